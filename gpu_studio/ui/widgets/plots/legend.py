"""The names of a plot's curves, each beside a piece of its line, with its newest value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.plots.curve import Style

_SAMPLE = 22
_GAP = 6
_BETWEEN = 16
_LINE = 2.0
_LEAST = 80


@dataclass(frozen=True, slots=True)
class Entry:
    """A curve's name, how it looks, and its newest value as text (or nothing)."""

    name: str
    style: Style
    value: str = ""

    @property
    def text(self) -> str:
        """What stands beside the piece of line."""
        return f"{self.name} {self.value}".rstrip()


class Legend(QWidget):
    """A row of entries. It draws as many as there is room for; its accessible name tells them all."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._entries: tuple[Entry, ...] = ()
        self._names: tuple[str, ...] = ()
        self._wanted = 0
        self.setFont(font("caption"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is shown."""
        return self._entries

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Show these entries."""
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self.setAccessibleName(", ".join(entry.text for entry in entries))
            self._ask_for_room()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line, as wide as the entries ever were."""
        return QSize(self._wanted, self.fontMetrics().height() + 4)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for one short entry."""
        return QSize(_LEAST, self.sizeHint().height())

    def _ask_for_room(self) -> None:
        """A new figure must not ask for a new layout each time: the room only grows, but for other curves."""
        wanted = sum(self._width(entry) + _BETWEEN for entry in self._entries)
        names = tuple(entry.name for entry in self._entries)
        if wanted > self._wanted or names != self._names:
            self._wanted, self._names = wanted, names
            self.updateGeometry()

    def _width(self, entry: Entry) -> int:
        return _SAMPLE + _GAP + self.fontMetrics().horizontalAdvance(entry.text)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the entries that fit, from the left."""
        del event
        painter = QPainter(self)
        left = 0
        for entry in self._entries:
            width = self._width(entry)
            if left + width > self.width():
                return
            self._paint_entry(painter, entry, left)
            left += width + _BETWEEN

    def _paint_entry(self, painter: QPainter, entry: Entry, left: int) -> None:
        tokens = self._theme.tokens
        middle = self.height() / 2
        pen = QPen(QColor(entry.style.colour(tokens)), _LINE)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if entry.style.dash:
            pen.setDashPattern([part / _LINE for part in entry.style.dash])
        painter.setPen(pen)
        painter.drawLine(QLineF(left, middle, left + _SAMPLE, middle))
        if entry.style.dots:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setBrush(pen.color())
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawEllipse(QPointF(left + _SAMPLE / 2, middle), 3.5, 3.5)
        painter.setPen(QColor(tokens.muted))
        words = self.rect().adjusted(left + _SAMPLE + _GAP, 0, 0, 0)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, entry.text)
