"""Something that is on or off."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QCheckBox, QWidget

from gpu_studio.plan.problems import shown
from gpu_studio.ui.theme.fonts import font

_WIDTH, _HEIGHT = 30.0, 17.0
_GAP = 8
_HIGH = 28


class Switch(QCheckBox):
    """A pill with a knob, and in words what it stands at; what is neither true nor false, from a file, it quotes.

    Its colours are the palette's, which the theme sets.
    """

    edited = Signal(object)
    merges = False

    def __init__(self, name: str, parent: QWidget | None = None, *, on: str = "on", off: str = "off") -> None:
        super().__init__(off, parent)
        self._words = {True: on, False: off}
        self.setAccessibleName(name)
        self.setFont(font("text"))
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.clicked.connect(self._tell)

    def set_tip(self, tip: str) -> None:
        """What the tooltip says."""
        self.setToolTip(tip)

    def show_value(self, value: Any) -> None:
        """Show a value without reporting it."""
        self.setChecked(value is True)
        text = self._words[value] if isinstance(value, bool) else shown(value)
        if text != self.text():
            self.setText(text)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The pill and the words."""
        words = self.fontMetrics().horizontalAdvance(self.text())
        return QSize(int(_WIDTH) + _GAP + words + 4, max(_HIGH, self.fontMetrics().height()))

    def hitButton(self, pos: QPoint) -> bool:  # noqa: N802 - Qt's name
        """The words can be pressed too."""
        return self.rect().contains(pos)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the pill, the knob and the words."""
        del event
        palette, on = self.palette(), self.isChecked()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pill = QRectF(1.5, (self.height() - _HEIGHT) / 2, _WIDTH, _HEIGHT)
        painter.setPen(QPen(palette.color(self._edge()), 1.5 if self.hasFocus() else 1))
        painter.setBrush(palette.color(QPalette.ColorRole.Highlight if on else QPalette.ColorRole.Button))
        painter.drawRoundedRect(pill, _HEIGHT / 2, _HEIGHT / 2)
        self._draw_knob(painter, pill)
        painter.setPen(palette.color(QPalette.ColorRole.WindowText))
        words = self.rect().adjusted(int(_WIDTH) + _GAP + 2, 0, 0, 0)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text())

    def _edge(self) -> QPalette.ColorRole:
        """The colour around the pill: with the focus one that its inside never has."""
        if self.hasFocus():
            return QPalette.ColorRole.WindowText if self.isChecked() else QPalette.ColorRole.Highlight
        return QPalette.ColorRole.Highlight if self.isChecked() else QPalette.ColorRole.PlaceholderText

    def _draw_knob(self, painter: QPainter, pill: QRectF) -> None:
        on, radius = self.isChecked(), _HEIGHT / 2 - 3.5
        role = QPalette.ColorRole.HighlightedText if on else QPalette.ColorRole.PlaceholderText
        middle = pill.right() - _HEIGHT / 2 if on else pill.left() + _HEIGHT / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.palette().color(role)))
        painter.drawEllipse(QPointF(middle, pill.center().y()), radius, radius)

    def _tell(self, checked: bool) -> None:
        self.setText(self._words[checked])
        self.edited.emit(checked)
