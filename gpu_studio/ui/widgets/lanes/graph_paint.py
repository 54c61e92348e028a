"""Where the nodes of a model's graph stand, and how they and their edges are drawn."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from gpu_studio.plan.problems import listed
from gpu_studio.ui.models.plan.lanes.graph_picture import Edge, Node, Picture
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.painting import LEFT, RIGHT

HIGH, STEP = 38.0, 58.0
TOP = 10.0
_WIDEST, _GAP = 360.0, 14.0
_RADIUS = 8.0
_STRIPE = 5.0


def box_of(node: Node, width: float) -> QRectF:
    """The place of a node in a drawing of this width: rows from top to bottom, each in the middle."""
    wide = min(_WIDEST, (width - 2 * _GAP) / node.columns - _GAP)
    middle = width / 2 + (node.column - (node.columns - 1) / 2) * (wide + _GAP)
    return QRectF(middle - wide / 2, TOP + node.row * STEP, wide, HIGH)


def height_of(picture: Picture) -> int:
    """How high the whole drawing is."""
    return round(2 * TOP + picture.rows * STEP - (STEP - HIGH)) if picture.rows else 0


def draw_edge(painter: QPainter, edge: Edge, picture: Picture, width: float, tokens: Tokens) -> None:
    """Draw an edge; one between devices in the accent and broken, one that skips rows around what it skips."""
    source, target = picture.nodes[edge.source], picture.nodes[edge.target]
    begin = QPointF(box_of(source, width).center().x(), box_of(source, width).bottom())
    end = QPointF(box_of(target, width).center().x(), box_of(target, width).top())
    pen = QPen(QColor(tokens.accent if edge.crossing else mix(tokens.muted, tokens.surface, 0.7)), 1.5)
    if edge.crossing:
        pen.setDashPattern([4, 3])
    path = QPainterPath(begin)
    if target.row - source.row > 1:
        aside = max(box_of(source, width).right(), box_of(target, width).right()) + 16
        aside = min(aside + 6 * (target.row - source.row - 2), width - 6)
        path.cubicTo(QPointF(aside, begin.y() + 4), QPointF(aside, begin.y() + 4), QPointF(aside, begin.y() + 30))
        path.lineTo(aside, end.y() - 30)
        path.cubicTo(QPointF(aside, end.y() - 4), QPointF(aside, end.y() - 4), end)
    else:
        bend = (end.y() - begin.y()) / 2
        path.cubicTo(begin + QPointF(0, bend), end - QPointF(0, bend), end)
    painter.strokePath(path, pen)


def draw_node(painter: QPainter, node: Node, box: QRectF, tokens: Tokens, *, chosen: bool, current: bool) -> None:
    """Draw a node in its device's colour, with the device's name; one that is folded looks like a pile."""
    colour = _colour(node, tokens)
    ground = mix(colour, tokens.surface, 0.28 if chosen else 0.13)
    if node.folded:
        painter.setPen(QPen(QColor(mix(colour, tokens.surface, 0.6)), 1))
        painter.setBrush(QColor(mix(colour, tokens.surface, 0.08)))
        painter.drawRoundedRect(box.translated(3, 3), _RADIUS, _RADIUS)
    outline = QPainterPath()
    outline.addRoundedRect(box, _RADIUS, _RADIUS)
    painter.fillPath(outline, QColor(ground))
    _draw_stripe(painter, node, box, outline, tokens)
    edge = tokens.accent if current or chosen else colour
    painter.strokePath(outline, QPen(QColor(edge), 2.0 if current or chosen else 1.0))
    _write(painter, node, box, tokens)


def _draw_stripe(painter: QPainter, node: Node, box: QRectF, outline: QPainterPath, tokens: Tokens) -> None:
    """A stripe with a part for each of its devices."""
    places = node.seat.places or (None,)
    high = box.height() / len(places)
    painter.save()
    painter.setClipPath(outline)
    for number, place in enumerate(places):
        colour = tokens.muted if place is None else tokens.device_colour(place)
        painter.fillRect(QRectF(box.left(), box.top() + number * high, _STRIPE, high + 1), QColor(colour))
    painter.restore()


def _write(painter: QPainter, node: Node, box: QRectF, tokens: Tokens) -> None:
    inside = box.adjusted(_STRIPE + 6, 2, -6, -2)
    half = inside.height() / 2
    devices = listed(node.seat.devices) if len(node.seat.devices) < 3 else f"{len(node.seat.devices)} devices"
    painter.setFont(font("mono_caption"))
    painter.setPen(QColor(tokens.muted))
    taken = painter.fontMetrics().horizontalAdvance(devices) + 8
    if taken < inside.width() / 2:
        painter.drawText(QRectF(inside.left(), inside.top(), inside.width(), half), RIGHT, devices)
    else:
        taken = 0
    painter.setPen(QColor(tokens.text))
    title = f"▸ {node.title}" if node.folded else node.title
    _cut(painter, QRectF(inside.left(), inside.top(), inside.width() - taken, half), title)
    painter.setFont(font("caption"))
    painter.setPen(QColor(tokens.muted))
    _cut(painter, QRectF(inside.left(), inside.top() + half, inside.width(), half), node.detail)


def _cut(painter: QPainter, room: QRectF, text: str) -> None:
    words = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, int(room.width()))
    painter.drawText(room, LEFT, words)


def _colour(node: Node, tokens: Tokens) -> str:
    place = node.seat.places[0] if node.seat.places else None
    return tokens.muted if place is None else tokens.device_colour(place)
