"""A tile: one of a few things to choose, with its title in the middle."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix, readable
from gpu_studio.ui.widgets.choosing.choosable import Choosable

_HEIGHT = 34
_RADIUS = 8.0
_SIDE = 4
_MIDDLE = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap


class Tile(Choosable):
    """Paints its title, in two lines where it must. What cannot be chosen is muted and has a broken frame."""

    def __init__(self, title: str, name: str, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(name, theme, parent)
        self.setText(title)
        self.setFont(font("caption"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Two lines of the title."""
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self.text()) + 2 * _SIDE, max(_HEIGHT, 2 * metrics.height() + 4))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the frame and the title."""
        del event
        tokens = self._theme.tokens
        ground = self._ground()
        edge = tokens.accent if self.isChecked() or self.hasFocus() else tokens.line
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QColor(ground))
        style = Qt.PenStyle.DashLine if self.why_not else Qt.PenStyle.SolidLine
        painter.setPen(QPen(QColor(edge), 2 if self.hasFocus() else 1, style))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), _RADIUS, _RADIUS)
        painter.setPen(QColor(readable(tokens.muted if self.why_not else tokens.text, ground, tokens.text)))
        painter.drawText(self.rect().adjusted(_SIDE, 0, -_SIDE, 0), int(_MIDDLE), self.text())

    def _ground(self) -> str:
        tokens = self._theme.tokens
        if self.isChecked():
            return mix(tokens.accent, tokens.surface, 0.16)
        if self.why_not:
            return tokens.surface
        return mix(tokens.text, tokens.raised, 0.06) if self.underMouse() else tokens.raised
