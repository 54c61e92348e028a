"""The model's graph, coloured by device. Only the rows that are seen are painted, so that size does not matter."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QContextMenuEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from gpu_studio.placement.model_graph import ModelGraph
from gpu_studio.ui.models.plan.lanes.board import Board
from gpu_studio.ui.models.plan.lanes.graph_picture import Node, Picture, picture_of
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.lanes.graph_paint import STEP, box_of, draw_edge, draw_node, height_of
from gpu_studio.ui.widgets.lanes.lane_keys import digit, kept

_NEXT = {Qt.Key.Key_Down: 1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_Left: -1}
_UNFOLD = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class GraphView(QAbstractScrollArea):
    """`chosen(layers)` are those of the node that a person chose. Space or a double click unfolds it.

    `sent(number, split)` is a key that moves them to a device, `menu_asked(where)` wants a menu about them.
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
        self.picture = Picture()
        self.current = 0
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("graph of the model")
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("background: transparent;")
        theme.changed.connect(self.viewport().update)

    def show_graph(self, graph: ModelGraph, board: Board) -> None:
        """Show this model on its devices; what was unfolded stays so."""
        if (graph, board) != (self._graph, self._board):
            self._graph, self._board = graph, board
            self._draw_anew()

    def select(self, layers: tuple[str, ...]) -> None:
        """Mark the nodes of these layers."""
        self._selected = frozenset(layers)
        self.viewport().update()

    def unfold(self, number: int) -> None:
        """Draw the layers of a node apart; what is apart already is folded again where it was."""
        node = self.picture.nodes[number]
        first = node.layers[0]
        self._unfolded = self._unfolded | {first} if node.folded else self._unfolded - {self._opened(first)}
        self._draw_anew()
        self.current = self.picture.node_of(first) or 0
        self._tell()

    def node_at(self, at: QPointF) -> int | None:
        """The number of the node at a place of the viewport."""
        spot = at + QPointF(0, self.verticalScrollBar().value())
        width = float(self.viewport().width())
        return next((n for n, node in enumerate(self.picture.nodes) if box_of(node, width).contains(spot)), None)

    def event(self, event: QEvent) -> bool:
        """Keep the keys that move layers from being the window's."""
        return kept(event, digit) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Go to another node, unfold one, or move its layers."""
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
        """Choose the node under the pointer."""
        number = self.node_at(event.position())
        if number is not None:
            self._choose(number)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Unfold the node under the pointer, or fold it."""
        number = self.node_at(event.position())
        if number is not None:
            self.unfold(number)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Ask for a menu about the node; by mouse about the one under the pointer."""
        number = self.node_at(QPointF(event.pos()))
        if number is not None and event.reason() == QContextMenuEvent.Reason.Mouse:
            self._choose(number)
        if self.picture.nodes:
            self.menu_asked.emit(event.globalPos())

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Say all of a node where the pointer rests."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            number = self.node_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self._tip(number), self)
            return True
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Scroll as far as there is something."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the edges and nodes that are to be seen."""
        del event
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scrolled, width = self.verticalScrollBar().value(), float(self.viewport().width())
        painter.translate(0, -scrolled)
        first, last = int(scrolled / STEP) - 1, int((scrolled + self.viewport().height()) / STEP) + 1
        nodes, tokens = self.picture.nodes, self._theme.tokens
        for edge in self.picture.edges:
            if nodes[edge.source].row <= last and nodes[edge.target].row >= first:
                draw_edge(painter, edge, self.picture, width, tokens)
        for number, node in enumerate(nodes):
            if first <= node.row <= last:
                chosen = bool(self._selected.intersection(node.layers))
                current = number == self.current and self.hasFocus()
                draw_node(painter, node, box_of(node, width), tokens, chosen=chosen, current=current)

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
    def _current_node(self) -> Node:
        return self.picture.nodes[self.current]

    def _opened(self, layer: str) -> str:
        """The layer under which the group was unfolded that a layer is in."""
        folded = picture_of(self._graph, self._board, frozenset()) if self._graph else Picture()
        number = folded.node_of(layer)
        return folded.nodes[number].layers[0] if number is not None else layer

    def _draw_anew(self) -> None:
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
        """Let a screen reader say the current node."""
        if self.picture.nodes:
            self.setAccessibleDescription(self._current_node.text)
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.DescriptionChanged))
        self.viewport().update()
