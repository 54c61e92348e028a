"""What lies over the curves while a person looks: the crosshair, and the band that is being brushed."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsLineItem, QGraphicsRectItem

from gpu_studio.ui.theme.tokens import Tokens


class Overlay:
    """Two items of a plot's scene, in pixels."""

    def __init__(self) -> None:
        self.crosshair = QGraphicsLineItem()
        self.crosshair.setZValue(10)
        self.crosshair.hide()
        self.band = QGraphicsRectItem()
        self.band.setZValue(9)
        self.band.hide()

    @property
    def items(self) -> list[QGraphicsItem]:
        """What has to be put into the scene."""
        return [self.crosshair, self.band]

    def set_tokens(self, tokens: Tokens) -> None:
        """Wear the colours of this theme."""
        pen = QPen(QColor(tokens.muted), 1.0)
        pen.setCosmetic(True)
        pen.setDashPattern([3.0, 3.0])
        self.crosshair.setPen(pen)
        fill = QColor(tokens.accent)
        fill.setAlphaF(0.16)
        self.band.setBrush(fill)
        self.band.setPen(QPen(Qt.PenStyle.NoPen))

    def show_crosshair(self, area: QRectF, x: float | None) -> None:
        """Draw the crosshair at this pixel; none outside the area."""
        shown = x is not None and area.left() <= x <= area.right()
        if x is not None and shown:
            self.crosshair.setLine(round(x), area.top(), round(x), area.bottom())
        self.crosshair.setVisible(shown)

    def show_band(self, area: QRectF, first: float, second: float) -> None:
        """Draw the brushed band between two pixels."""
        left, right = max(min(first, second), area.left()), min(max(first, second), area.right())
        self.band.setRect(QRectF(left, area.top(), max(right - left, 0.0), area.height()))
        self.band.show()

    def hide_band(self) -> None:
        """Nothing is being brushed."""
        self.band.hide()
