"""The bar of a device's predicted memory: its parts, what others hold, and what is advised besides.

All lengths are shares (0 to 1) of the bar.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen

from gpu_studio.ui.kit import Tokens, mix

BAR = 8.0
_SLIVER = 3
"""So many pixels show that there is something, however little."""
_SHADES = (1.0, 0.72, 0.5, 0.34, 0.2)


def draw_parts(
    painter: QPainter, area: QRectF, shares: Sequence[float], colour: str, tokens: Tokens
) -> None:
    """Draw a trough, and in it the parts (each 0 to 1 of it), one after the other.

    The parts are in shades of the device's colour.
    """
    outline = QPainterPath()
    outline.addRoundedRect(area, BAR / 2, BAR / 2)
    painter.setPen(QPen(QColor(tokens.line), 1))
    painter.setBrush(QColor(tokens.raised))
    painter.drawPath(outline)
    if not any(shares):
        return
    painter.save()
    painter.setClipPath(outline)
    left = area.left()
    scale = area.width() * max(1.0, _SLIVER / max(sum(shares) * area.width(), 1e-9))
    for share, shade in zip(shares, shades(colour, tokens), strict=False):
        width = share * scale
        painter.fillRect(
            QRectF(left, area.top(), max(0.0, width - (1 if width > 3 else 0)), BAR), QColor(shade)
        )
        left += width
    painter.restore()


def draw_held(painter: QPainter, area: QRectF, share: float, tokens: Tokens) -> None:
    """Hatch the memory held by others, a `share` (0 to 1) of the trough from its end.

    It is drawn over the parts that would need the same memory.
    """
    if share <= 0:
        return
    outline = QPainterPath()
    outline.addRoundedRect(area, BAR / 2, BAR / 2)
    held = QRectF(
        area.right() - share * area.width(), area.top(), share * area.width(), area.height()
    )
    painter.save()
    painter.setClipPath(outline)
    painter.fillRect(held, QBrush(QColor(tokens.muted), Qt.BrushStyle.BDiagPattern))
    painter.fillRect(QRectF(held.left() - 1, held.top(), 1, held.height()), QColor(tokens.muted))
    painter.restore()


def draw_advised(
    painter: QPainter, area: QRectF, begin: float, share: float, tokens: Tokens
) -> None:
    """Dot the memory that is advised beside the parts, from where these end (`begin`) on."""
    left = area.left() + begin * area.width()
    width = min(share * area.width(), area.right() - left)
    if width <= 0:
        return
    outline = QPainterPath()
    outline.addRoundedRect(area, BAR / 2, BAR / 2)
    painter.save()
    painter.setClipPath(outline)
    advised = QRectF(left, area.top(), width, area.height())
    painter.fillRect(advised, QBrush(QColor(tokens.warning), Qt.BrushStyle.Dense5Pattern))
    painter.restore()


def shades(colour: str, tokens: Tokens) -> tuple[str, ...]:
    """Return shades of a device's colour.

    They stand for weights, gradients, slots, activations and the rest.
    """
    return tuple(mix(colour, tokens.surface, share) for share in _SHADES)
