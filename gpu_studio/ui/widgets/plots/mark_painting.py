"""How marks and spans look: each kind has a shape of its own, so that colour is not the only sign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPolygonF

from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.plots.decimate import Array
from gpu_studio.ui.widgets.plots.marks import MarkKind, Span

# More upright lines than these would be a fence before the curves: then only their heads are drawn.
MOST_UPRIGHTS: Final = 12
LANE: Final = 11
"""Pixels below the curves in which progress is marked, so that no mark lies on a curve; alarms cross the curves."""
_LEAST_SPAN = 2.0
_SPAN_SHARE = 0.16
Draw = Callable[[QPainter, Tokens, QRectF, float], None]


def paint_span(painter: QPainter, tokens: Tokens, area: QRectF, span: Span, ends: tuple[float, float]) -> None:
    """Shade what lies between two pixels: flat for a throttled card, hatched for a pause."""
    left, right = max(ends[0], area.left()), min(max(ends[1], ends[0] + _LEAST_SPAN), area.right())
    if right <= left:
        return
    room = QRectF(left, area.top(), right - left, area.height())
    if span.kind == "throttled":
        painter.fillRect(room, QColor(mix(tokens.warning, tokens.surface, _SPAN_SHARE)))
    else:
        painter.fillRect(room, QColor(mix(tokens.muted, tokens.surface, 0.10)))
        painter.fillRect(room, QBrush(QColor(mix(tokens.muted, tokens.surface, 0.35)), Qt.BrushStyle.BDiagPattern))


def paint_marks(painter: QPainter, tokens: Tokens, area: QRectF, kind: MarkKind, pixels: Array) -> None:
    """Paint marks of one kind at these pixels."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if kind in _UPRIGHTS and len(pixels) <= MOST_UPRIGHTS:
        colour, dash = _UPRIGHTS[kind](tokens), _DASHES[kind]
        painter.setPen(_pen(mix(colour, tokens.surface, 0.7), dash))
        for x in pixels.tolist():
            painter.drawLine(QLineF(round(x) + 0.5, area.top(), round(x) + 0.5, area.bottom()))
    for x in pixels.tolist():
        _HEADS[kind](painter, tokens, area, x)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _pen(colour: str, dash: Sequence[float] = ()) -> QPen:
    pen = QPen(QColor(colour), 1.0)
    if dash:
        pen.setDashPattern(list(dash))
    return pen


def _epoch(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(_pen(mix(tokens.muted, tokens.surface, 0.7)))
    painter.drawLine(QLineF(round(x) + 0.5, area.bottom() + 1, round(x) + 0.5, area.bottom() + 6))


def _diamond(painter: QPainter, x: float, y: float, half: float) -> None:
    points = (QPointF(x, y - half), QPointF(x + half, y), QPointF(x, y + half), QPointF(x - half, y))
    painter.drawPolygon(QPolygonF(points))


def _checkpoint(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(_pen(tokens.accent))
    painter.setBrush(QColor(tokens.surface))
    _diamond(painter, x, area.bottom() + LANE / 2, 4)


def _best(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(_pen(tokens.surface))
    painter.setBrush(QColor(tokens.accent))
    _diamond(painter, x, area.bottom() + LANE / 2, 5)


def _rate(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    """A stair, as a learning rate that goes down."""
    painter.setPen(_pen(tokens.text))
    y = area.bottom() + LANE
    painter.drawPolyline([QPointF(x - 5, y - 8), QPointF(x, y - 8), QPointF(x, y - 2), QPointF(x + 5, y - 2)])


def _triangle(painter: QPainter, colour: str, area: QRectF, x: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    top = area.top()
    painter.drawPolygon(QPolygonF([QPointF(x - 4, top - 2), QPointF(x + 4, top - 2), QPointF(x, top + 5)]))


def _warning(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    _triangle(painter, tokens.warning, area, x)


def _error(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    _triangle(painter, tokens.bad, area, x)


def _xid(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(tokens.bad))
    painter.drawRect(QRectF(x - 3.5, area.top() - 2, 7, 7))


def _missing(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(QPen(QColor(tokens.bad), 1.6))
    top = area.top() + 1
    painter.drawLine(QLineF(x - 4, top - 3, x + 4, top + 5))
    painter.drawLine(QLineF(x - 4, top + 5, x + 4, top - 3))


_UPRIGHTS: Final[dict[MarkKind, Callable[[Tokens], str]]] = {
    "warning": lambda tokens: tokens.warning,
    "xid": lambda tokens: tokens.bad,
    "missing": lambda tokens: tokens.bad,
    "error": lambda tokens: tokens.bad,
}
_DASHES: Final[dict[MarkKind, tuple[float, ...]]] = {
    "warning": (4, 2),
    "xid": (1, 2),
    "missing": (6, 2, 1, 2),
    "error": (),
}
_HEADS: Final[dict[MarkKind, Draw]] = {
    "epoch": _epoch,
    "checkpoint": _checkpoint,
    "best": _best,
    "rate": _rate,
    "warning": _warning,
    "xid": _xid,
    "missing": _missing,
    "error": _error,
}
