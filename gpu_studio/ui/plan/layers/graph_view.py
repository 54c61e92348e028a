"""The model's graph, coloured by device.

Only the visible rows are painted, so the size of the model does not matter.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QContextMenuEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from gpu_studio.placement.plan_facts import ModelGraph
from gpu_studio.plan import listed
from gpu_studio.ui.kit import LEFT, RIGHT, ThemeManager, Tokens, font, mix
from gpu_studio.ui.plan.layers.board import Board
from gpu_studio.ui.plan.layers.graph_picture import Edge, GraphNode, GraphPicture, picture_of
from gpu_studio.ui.plan.layers.layer_moves import digit, kept

HIGH, STEP = 38.0, 58.0
TOP = 10.0
_WIDEST, _GAP = 360.0, 14.0
_RADIUS = 8.0
_STRIPE = 5.0


def box_of(node: GraphNode, width: float) -> QRectF:
    """Return the rectangle of a node in a drawing of this width.

    Rows go from top to bottom, and each is centred.
    """
    wide = min(_WIDEST, (width - 2 * _GAP) / node.columns - _GAP)
    middle = width / 2 + (node.column - (node.columns - 1) / 2) * (wide + _GAP)
    return QRectF(middle - wide / 2, TOP + node.row * STEP, wide, HIGH)


def height_of(picture: GraphPicture) -> int:
    """How high the whole drawing is."""
    return round(2 * TOP + picture.rows * STEP - (STEP - HIGH)) if picture.rows else 0


def draw_edge(
    painter: QPainter, edge: Edge, picture: GraphPicture, width: float, tokens: Tokens
) -> None:
    """Draw an edge.

    An edge between devices is dashed in the accent colour; one that skips rows goes around them.
    """
    source, target = picture.nodes[edge.source], picture.nodes[edge.target]
    begin = QPointF(box_of(source, width).center().x(), box_of(source, width).bottom())
    end = QPointF(box_of(target, width).center().x(), box_of(target, width).top())
    pen = QPen(
        QColor(tokens.accent if edge.crossing else mix(tokens.muted, tokens.surface, 0.7)), 1.5
    )
    if edge.crossing:
        pen.setDashPattern([4, 3])
    path = QPainterPath(begin)
    if target.row - source.row > 1:
        aside = max(box_of(source, width).right(), box_of(target, width).right()) + 16
        aside = min(aside + 6 * (target.row - source.row - 2), width - 6)
        path.cubicTo(
            QPointF(aside, begin.y() + 4),
            QPointF(aside, begin.y() + 4),
            QPointF(aside, begin.y() + 30),
        )
        path.lineTo(aside, end.y() - 30)
        path.cubicTo(QPointF(aside, end.y() - 4), QPointF(aside, end.y() - 4), end)
    else:
        bend = (end.y() - begin.y()) / 2
        path.cubicTo(begin + QPointF(0, bend), end - QPointF(0, bend), end)
    painter.strokePath(path, pen)


def draw_node(
    painter: QPainter, node: GraphNode, box: QRectF, tokens: Tokens, *, chosen: bool, current: bool
) -> None:
    """Draw a node in its device's colour, with the device's name.

    A folded node looks like a pile.
    """
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


def _draw_stripe(
    painter: QPainter, node: GraphNode, box: QRectF, outline: QPainterPath, tokens: Tokens
) -> None:
    """Draw a stripe with a part for each of its devices."""
    places = node.seat.places or (None,)
    high = box.height() / len(places)
    painter.save()
    painter.setClipPath(outline)
    for number, place in enumerate(places):
        colour = tokens.muted if place is None else tokens.device_colour(place)
        painter.fillRect(
            QRectF(box.left(), box.top() + number * high, _STRIPE, high + 1), QColor(colour)
        )
    painter.restore()


def _write(painter: QPainter, node: GraphNode, box: QRectF, tokens: Tokens) -> None:
    inside = box.adjusted(_STRIPE + 6, 2, -6, -2)
    half = inside.height() / 2
    devices = (
        listed(node.seat.devices)
        if len(node.seat.devices) < 3
        else f"{len(node.seat.devices)} devices"
    )
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


def _cut(painter: QPainter, area: QRectF, text: str) -> None:
    words = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, int(area.width()))
    painter.drawText(area, LEFT, words)


def _colour(node: GraphNode, tokens: Tokens) -> str:
    place = node.seat.places[0] if node.seat.places else None
    return tokens.muted if place is None else tokens.device_colour(place)


_NEXT = {Qt.Key.Key_Down: 1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_Left: -1}
_UNFOLD = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class GraphView(QAbstractScrollArea):
    """`chosen(layers)` are those of the selected node. Space or a double click unfolds it.

    `sent(number, split)` is a key that moves them to a device, `menu_asked(where)` asks for a menu
    about them.
    """

    chosen = Signal(tuple)
    sent = Signal(int, bool)
    menu_asked = Signal(QPoint)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._graph: ModelGraph | None = None
        self._board = Board()
        self._unfolded: frozenset[str] = frozenset()
        self._selected: frozenset[str] = frozenset()
        self.picture = GraphPicture()
        self.current = 0
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("graph of the model")
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("background: transparent;")
        theme.changed.connect(self.viewport().update)

    def show_graph(self, graph: ModelGraph, board: Board) -> None:
        """Show this model on its devices; unfolded nodes stay unfolded."""
        if (graph, board) != (self._graph, self._board):
            self._graph, self._board = graph, board
            self._redraw()

    def select(self, layers: tuple[str, ...]) -> None:
        """Select the nodes of these layers."""
        self._selected = frozenset(layers)
        self.viewport().update()

    def unfold(self, number: int) -> None:
        """Draw the layers of a node separately; fold them again if they already are."""
        node = self.picture.nodes[number]
        first = node.layers[0]
        self._unfolded = (
            self._unfolded | {first} if node.folded else self._unfolded - {self._opened(first)}
        )
        self._redraw()
        self.current = self.picture.node_of(first) or 0
        self._tell()

    def node_at(self, at: QPointF) -> int | None:
        """The number of the node at a place of the viewport."""
        spot = at + QPointF(0, self.verticalScrollBar().value())
        width = float(self.viewport().width())
        return next(
            (n for n, node in enumerate(self.picture.nodes) if box_of(node, width).contains(spot)),
            None,
        )

    def event(self, event: QEvent) -> bool:
        """Claim the keys that move layers, before the window's shortcuts get them."""
        return kept(event, digit) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Move to another node, unfold one, or move its layers."""
        key = Qt.Key(event.key())
        if (sent := digit(event)) is not None:
            self.sent.emit(*sent)
        elif key in _NEXT and self.picture.nodes:
            self._choose(max(0, min(len(self.picture.nodes) - 1, self.current + _NEXT[key])))
        elif key in _UNFOLD and self.picture.nodes:
            self.unfold(self.current)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Select the node under the pointer."""
        number = self.node_at(event.position())
        if number is not None:
            self._choose(number)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Unfold or fold the node under the pointer."""
        number = self.node_at(event.position())
        if number is not None:
            self.unfold(number)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Ask for a menu about the node; by mouse, about the one under the pointer."""
        number = self.node_at(QPointF(event.pos()))
        if number is not None and event.reason() == QContextMenuEvent.Reason.Mouse:
            self._choose(number)
        if self.picture.nodes:
            self.menu_asked.emit(event.globalPos())

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Show a tooltip with everything about the node under the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            number = self.node_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self._tip(number), self)
            return True
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Adapt the scroll range."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the visible edges and nodes."""
        del event
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scrolled, width = self.verticalScrollBar().value(), float(self.viewport().width())
        painter.translate(0, -scrolled)
        first, last = (
            int(scrolled / STEP) - 1,
            int((scrolled + self.viewport().height()) / STEP) + 1,
        )
        nodes, tokens = self.picture.nodes, self._theme.tokens
        for edge in self.picture.edges:
            if nodes[edge.source].row <= last and nodes[edge.target].row >= first:
                draw_edge(painter, edge, self.picture, width, tokens)
        for number, node in enumerate(nodes):
            if first <= node.row <= last:
                chosen = bool(self._selected.intersection(node.layers))
                current = number == self.current and self.hasFocus()
                draw_node(
                    painter, node, box_of(node, width), tokens, chosen=chosen, current=current
                )

    def _choose(self, number: int) -> None:
        self.current = number
        box = box_of(self._current_node, float(self.viewport().width()))
        self._bring_into_view(box)
        self.chosen.emit(self._current_node.layers)
        self._selected = frozenset(self._current_node.layers)
        self._tell()

    def _tip(self, number: int | None) -> str:
        if number is None:
            return ""
        node = self.picture.nodes[number]
        return f"{node.text}\nA double click, or Space, unfolds it" if node.folded else node.text

    @property
    def _current_node(self) -> GraphNode:
        return self.picture.nodes[self.current]

    def _opened(self, layer: str) -> str:
        """Return the first layer of the unfolded group that a layer is in."""
        folded = (
            picture_of(self._graph, self._board, frozenset()) if self._graph else GraphPicture()
        )
        number = folded.node_of(layer)
        return folded.nodes[number].layers[0] if number is not None else layer

    def _redraw(self) -> None:
        if self._graph is not None:
            self.picture = picture_of(self._graph, self._board, self._unfolded)
            self.current = max(0, min(self.current, len(self.picture.nodes) - 1))
            self._fit()

    def _fit(self) -> None:
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, height_of(self.picture) - self.viewport().height()))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(round(STEP))
        self.viewport().update()

    def _bring_into_view(self, box: QRectF) -> None:
        bar = self.verticalScrollBar()
        if box.top() < bar.value() or box.bottom() > bar.value() + self.viewport().height():
            bar.setValue(round(box.center().y() - self.viewport().height() / 2))

    def _tell(self) -> None:
        """Tell screen readers about the current node."""
        if self.picture.nodes:
            self.setAccessibleDescription(self._current_node.text)
            QAccessible.updateAccessibility(
                QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
            )
        self.viewport().update()
