"""What the pointer carries while layers are dragged."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPixmap

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens

_HEIGHT, _SIDE, _RADIUS = 26.0, 12.0, 7.0


def label_of(words: str, tokens: Tokens, scale: float) -> QPixmap:
    """A framed label with these words, for a screen of this scale."""
    wide = QFontMetricsF(font("mono")).horizontalAdvance(words) + 2 * _SIDE
    made = QPixmap(round(wide * scale), round(_HEIGHT * scale))
    made.setDevicePixelRatio(scale)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(tokens.accent))
    painter.setBrush(QColor(mix(tokens.accent, tokens.surface, 0.2)))
    painter.drawRoundedRect(QRectF(0.5, 0.5, wide - 1, _HEIGHT - 1), _RADIUS, _RADIUS)
    painter.setFont(font("mono"))
    painter.setPen(QColor(tokens.text))
    painter.drawText(QPointF(_SIDE, 17), words)
    painter.end()
    return made
