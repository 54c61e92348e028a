"""The slim bar that shows how much of something is used."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gpu_studio.ui.theme.tokens import Tokens

HEIGHT = 8.0


def draw_bar(painter: QPainter, room: QRectF, share: float, colour: str, tokens: Tokens) -> None:
    """Draw a trough with `share` (0…1) of it filled, in the middle of `room`."""
    trough = QRectF(room.left(), room.center().y() - HEIGHT / 2, room.width(), HEIGHT)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(tokens.line), 1))
    painter.setBrush(QColor(tokens.raised))
    painter.drawRoundedRect(trough, HEIGHT / 2, HEIGHT / 2)
    if share <= 0:
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    # Clipped, so that a sliver keeps the round end of the trough.
    painter.save()
    painter.setClipRect(QRectF(trough.left(), trough.top(), max(2.0, trough.width() * share), HEIGHT))
    painter.drawRoundedRect(trough, HEIGHT / 2, HEIGHT / 2)
    painter.restore()
