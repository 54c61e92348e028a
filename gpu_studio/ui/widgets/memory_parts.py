"""The parts of one device's predicted memory by name, each with how it comes about."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFocusEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.ui.models.plan.outlook import MemoryPart, Prospect
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.labels import Paragraph
from gpu_studio.ui.widgets.memory_row import shades
from gpu_studio.ui.widgets.painting import LEFT, RIGHT, draw_focus

_SIGN = 10


class PartLine(QWidget):
    """One part: its shade, its name, its bytes. Its formula is its tooltip, and what a screen reader says of it."""

    pointed = Signal(str)

    def __init__(self, theme: ThemeManager, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._number = number
        self._place = 0
        self._part = MemoryPart()
        self.setFont(font("caption"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def part(self) -> MemoryPart:
        """What is shown."""
        return self._part

    def show_part(self, part: MemoryPart, place: int, device: str) -> None:
        """Show a part of this device."""
        self._part, self._place = part, place
        self.setAccessibleName(f"{part.name} on {device}: {part.amount}")
        self.setAccessibleDescription(part.told)
        self.setToolTip(part.told)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A line."""
        return QSize(160, self.fontMetrics().height() + 4)

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        """The pointer has come."""
        super().enterEvent(event)
        self.pointed.emit(self._part.name)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """The focus has come."""
        super().focusInEvent(event)
        self.pointed.emit(self._part.name)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the line."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_focus(painter, self, tokens, 4)
        line = QRectF(self.rect()).adjusted(4, 0, -4, 0)
        sign = QRectF(line.left(), line.center().y() - _SIGN / 2, _SIGN, _SIGN)
        painter.setPen(QColor(tokens.line))
        painter.setBrush(QColor(shades(tokens.device_colour(self._place), tokens)[self._number]))
        painter.drawRoundedRect(sign, 2, 2)
        painter.setPen(QColor(tokens.muted))
        painter.drawText(line.adjusted(_SIGN + 6, 0, 0, 0), LEFT, self._part.name)
        painter.setPen(QColor(tokens.text))
        painter.drawText(line, RIGHT, self._part.amount)


class MemoryParts(QWidget):
    """The parts of the device that was pointed at last, and the formula of the part that was."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.lines: list[PartLine] = []
        self._pointed = ""
        self._prospect: Prospect | None = None
        self.title = Paragraph(role="caption")
        self.formula = Paragraph(role="caption")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.title)
        self._column.addWidget(self.formula)

    def show_prospect(self, prospect: Prospect | None) -> None:
        """Show the parts of this device; without any it takes no room."""
        self._prospect = prospect
        self.setVisible(prospect is not None and bool(prospect.parts))
        if prospect is None or not prospect.parts:
            return
        self.title.setText(f"{prospect.name}: the most that each part takes")
        while len(self.lines) < len(prospect.parts):
            self._add_line()
        for line, part in zip(self.lines, prospect.parts, strict=True):
            line.show_part(part, prospect.place, prospect.name)
        self._say()

    def _add_line(self) -> None:
        line = PartLine(self._theme, len(self.lines))
        line.pointed.connect(self._point)
        self._column.insertWidget(1 + len(self.lines), line)
        self.lines.append(line)

    def _point(self, name: str) -> None:
        self._pointed = name
        self._say()

    def _say(self) -> None:
        """The formula of the part pointed at, else of the total."""
        if self._prospect is not None:
            formulas = {part.name: f"{part.name}: {part.formula}" for part in self._prospect.parts}
            self.formula.setText(formulas.get(self._pointed, self._prospect.formula))
