"""The slim bar that shows how much of something is used."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens

HEIGHT = 8.0
_FAINT = 0.45


def draw_bar(painter: QPainter, room: QRectF, share: float, colour: str, tokens: Tokens, reserved: float = 0.0) -> None:
    """Draw a trough with `share` (0…1) of it filled, in the middle of `room`; then a faint part, `reserved`."""
    trough = QRectF(room.left(), room.center().y() - HEIGHT / 2, room.width(), HEIGHT)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(tokens.line), 1))
    painter.setBrush(QColor(tokens.raised))
    painter.drawRoundedRect(trough, HEIGHT / 2, HEIGHT / 2)
    if reserved > 0:
        _fill(painter, trough, min(1.0, share + reserved), mix(tokens.muted, tokens.raised, _FAINT))
    if share > 0:
        _fill(painter, trough, share, colour)


def _fill(painter: QPainter, trough: QRectF, share: float, colour: str) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    # Clipped, so that a sliver keeps the round end of the trough.
    painter.save()
    painter.setClipRect(QRectF(trough.left(), trough.top(), max(2.0, trough.width() * share), HEIGHT))
    painter.drawRoundedRect(trough, HEIGHT / 2, HEIGHT / 2)
    painter.restore()
