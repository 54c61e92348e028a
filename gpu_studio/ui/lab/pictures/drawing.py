"""What all drawings of results share: places to point at, colours, marks, a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from gpu_studio.ui.kit import GRID, LEFT, Tokens, font
from gpu_studio.ui.kit.device_place import HOST

LINE: Final = 2.0
LEGEND: Final = 22.0
"""The height of a legend, in pixels."""
_MARK, _SAMPLE = 4.0, 22.0
_CORNERS: Final[Sequence[Sequence[tuple[float, float]]]] = (
    (),
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ((0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
)
"""The corners of each kind of mark; the first is round."""


@dataclass(frozen=True, slots=True)
class Hotspot:
    """A place of a drawing that can be pointed at, and what is said of it."""

    area: QRectF
    said: str


def number_of(device: str) -> int:
    """The number that gives a device of a result its colour and dash: its own, or the host's.

    A result names devices as TensorFlow does. Without a card among them the logical CPUs have
    colours of their own, as everywhere.
    """
    kind, _, number = device.partition(":")
    return int(number) if kind in ("CPU", "GPU") and number.isdecimal() else HOST


def pen(tokens: Tokens, number: int, width: float = LINE) -> QPen:
    """The pen of this number's colour and dash."""
    made = QPen(QColor(tokens.device_colour(number)), width)
    made.setCapStyle(Qt.PenCapStyle.FlatCap)
    if dash := tokens.device_dash(number):
        made.setDashPattern([part / width for part in dash])
    return made


def draw_mark(
    painter: QPainter, tokens: Tokens, number: int, at: QPointF, scale: float = 1
) -> None:
    """A mark whose shape, and not its colour alone, tells what it is of."""
    painter.setPen(QPen(QColor(tokens.surface), 1))
    painter.setBrush(QColor(tokens.device_colour(number)))
    corners, radius = _CORNERS[number % len(_CORNERS)], _MARK * scale
    if not corners:
        painter.drawEllipse(at, radius, radius)
        return
    points = [at + QPointF(x, y) * radius for x, y in corners]
    painter.drawPolygon(QPolygonF(points))


def draw_ring(painter: QPainter, tokens: Tokens, area: QRectF) -> None:
    """Mark the place that is pointed at."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(tokens.text), 1.4))
    painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)


def draw_legend(
    painter: QPainter, tokens: Tokens, names: Sequence[str], area: QRectF, *, marked: bool = True
) -> None:
    """The names with a piece of line and a mark each, from the left, as many as fit."""
    painter.setFont(font("caption"))
    metrics = QFontMetricsF(painter.font(), painter.device())
    left = area.left()
    for number, name in enumerate(names):
        width = metrics.horizontalAdvance(name)
        if left + _SAMPLE + 6 + width > area.right():
            painter.setPen(QColor(tokens.muted))
            painter.drawText(QPointF(left, area.center().y() + 4), f"+ {len(names) - number}")
            return
        middle = area.center().y()
        painter.setPen(pen(tokens, number))
        painter.drawLine(QPointF(left, middle), QPointF(left + _SAMPLE, middle))
        if marked:
            draw_mark(painter, tokens, number, QPointF(left + _SAMPLE / 2, middle))
        painter.setPen(QColor(tokens.muted))
        words = QRectF(left + _SAMPLE + 6, area.top(), width + 2, area.height())
        painter.drawText(words, int(LEFT), name)
        left = words.right() + 2 * GRID
