"""All lanes side by side, in as many rows as needed, with one selection over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDrag,
    QFontMetricsF,
    QHideEvent,
    QPainter,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QScrollArea, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.distribution import take_off
from gpu_studio.ui.kit import ThemeManager, Tokens, font, mix, tab_after
from gpu_studio.ui.plan.layers.board import OPEN, Board, Lane
from gpu_studio.ui.plan.layers.lane_view import SLIM, LaneView
from gpu_studio.ui.plan.layers.layer_moves import (
    Ground,
    LayerDrop,
    PointerHint,
    Verdict,
    carrying,
    verdict,
)

_HEIGHT, _SIDE, _RADIUS = 26.0, 12.0, 7.0


def label_of(words: str, tokens: Tokens, scale: float) -> QPixmap:
    """Return a framed label with this text, for a screen of this scale."""
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


def lane_menu(
    parent: QWidget,
    layers: tuple[str, ...],
    lanes: Sequence[Lane],
    judge: Callable[[LayerDrop], Verdict],
    wanted: Callable[[LayerDrop], object],
) -> QMenu:
    """Return a menu that passes the user's choice to `wanted`. It is deleted when closed."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for title, keys, split in (("Move to", "Ctrl+{}", False), ("Split with", "Ctrl+Alt+{}", True)):
        part = menu.addMenu(title)
        part.setToolTipsVisible(True)
        for number, lane in enumerate(_devices(lanes), 1):
            text = f"{lane.device}\t{keys.format(number)}" if number < 10 else lane.device
            _add(part, text, LayerDrop(layers, lane.device, split=split), judge, wanted)
    menu.addSeparator()
    _add(menu, "Leave open\tDel", LayerDrop(layers, OPEN), judge, wanted)
    menu.setToolTipsVisible(True)
    return menu


def _devices(lanes: Sequence[Lane]) -> list[Lane]:
    return [lane for lane in lanes if lane.place is not None]


def _add(
    menu: QMenu,
    text: str,
    drop: LayerDrop,
    judge: Callable[[LayerDrop], Verdict],
    wanted: Callable[[LayerDrop], object],
) -> None:
    verdict = judge(drop)
    action = menu.addAction(text)
    action.setEnabled(verdict.change is not None)
    action.setToolTip("" if verdict.change else verdict.said)
    action.triggered.connect(lambda: wanted(drop))


GAP = 6
NARROWEST = 118
LOWEST = 168
EDGE = 28
"""So near to the edge of what is seen, a drag scrolls."""
MANY_LAYERS = 32
"""From so many layers on, each has one line only."""
EMPTY = Verdict("The model's layers are not known yet.")


class LaneGrid(QWidget):
    """`edited(Change)` is the user's change, `refused(text)` why a key or menu had no effect.

    `chosen(layers)` reports which layers are selected.
    """

    edited = Signal(object)
    refused = Signal(str)
    chosen = Signal(tuple)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ground: Ground | None = None
        self._board = Board()
        self._judged: dict[LayerDrop, Verdict] = {}
        self._following: tuple[str, ...] = ()
        self.views: dict[str, LaneView] = {}
        self.hint: PointerHint | None = None

    def show_board(self, board: Board, ground: Ground) -> None:
        """Show these lanes; layers that were just moved stay selected where they are now."""
        self._ground, self._board = ground, board
        self._judged.clear()
        if [lane.device for lane in board.lanes] != list(self.views):
            self._rebuild()
        for lane in board.lanes:
            view = self.views[lane.device]
            view.list.delegate.compact = board.layers > MANY_LAYERS
            view.show_lane(lane)
        self._lay_out()
        self._follow()

    @property
    def selected(self) -> tuple[str, ...]:
        """The layers that are selected in any lane, each once."""
        return tuple(
            dict.fromkeys(layer for view in self.views.values() for layer in view.list.chosen)
        )

    def select(self, layers: tuple[str, ...]) -> None:
        """Select these layers, wherever they are."""
        for view in self.views.values():
            view.list.choose(layers)

    def judge(self, drop: LayerDrop) -> Verdict:
        """Return the effect of a drop.

        It is cached, because it is needed at every move of the pointer.
        """
        if drop not in self._judged:
            self._judged[drop] = verdict(drop, self._ground) if self._ground else EMPTY
        return self._judged[drop]

    def do(self, drop: LayerDrop) -> None:
        """Request the drop's change, or say why it is impossible."""
        found = self.judge(drop)
        if found.change is None:
            self.refused.emit(found.said)
            return
        self._following = drop.layers
        self._want(found.change)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Put as many lanes in a row as fit."""
        super().resizeEvent(event)
        self._lay_out()

    def _want(self, change: Change) -> None:
        self.refused.emit("")
        self.edited.emit(change)
        self._following = ()

    def _follow(self) -> None:
        """Select what was moved, and move the keyboard focus there."""
        if not self._following:
            return
        focused = any(view.list.hasFocus() for view in self.views.values())
        self.select(self._following)
        there = next((view for view in self.views.values() if view.list.chosen), None)
        if focused and there is not None:
            there.list.setFocus(Qt.FocusReason.OtherFocusReason)

    # The lanes

    def _rebuild(self) -> None:
        for view in self.views.values():
            view.hide()
            view.deleteLater()
        self.views = {lane.device: self._made(lane) for lane in self._board.lanes}
        tab_after(self, [view.list for view in self.views.values()])

    def _made(self, lane: Lane) -> LaneView:
        view = LaneView(self._theme, self.judge, self)
        view.dropped.connect(self.do)
        view.refused.connect(lambda text, where: self._hint(view, text, where))
        view.list.sent.connect(self.send)
        view.list.removed.connect(lambda: self._take_off(lane.device))
        view.list.stepped.connect(lambda by: self._step(lane.device, by))
        view.list.alone.connect(lambda: self._clear_others(view))
        view.list.dragged.connect(lambda: self._drag(view))
        view.list.menu_asked.connect(self.open_menu)
        view.list.selectionModel().selectionChanged.connect(lambda: self.chosen.emit(self.selected))
        view.show()
        return view

    def _lay_out(self) -> None:
        views = list(self.views.values())
        slim = [view for view in views if view.slim]
        wide = [view for view in views if not view.slim]
        left = len(slim) * (SLIM + GAP)
        columns = max(1, min(len(wide), (self.width() - left + GAP) // (NARROWEST + GAP)))
        rows = -(-len(wide) // columns)
        least = max(LOWEST, rows * (LOWEST + GAP) - GAP)
        if self.minimumHeight() != least:
            self.setMinimumHeight(least)
        height = (max(self.height(), least) + GAP) / max(1, rows)
        width = (self.width() - left + GAP) / columns
        for view in slim:
            view.setGeometry(0, 0, SLIM, max(self.height(), least))
        for place, view in enumerate(wide):
            row, column = divmod(place, columns)
            x, y = left + round(column * width), round(row * height)
            view.setGeometry(
                x,
                y,
                left + round((column + 1) * width) - x - GAP,
                round((row + 1) * height) - y - GAP,
            )

    def _clear_others(self, view: LaneView) -> None:
        for other in self.views.values():
            if other is not view:
                other.list.clearSelection()

    # The user's actions

    def send(self, number: int, split: bool) -> None:
        """Move the selection to the device with this number, from 0 on, or split it with it."""
        devices = [lane.device for lane in self._board.lanes if lane.place is not None]
        if number >= len(devices):
            self.refused.emit(f"There is no device number {number + 1}.")
        else:
            self.do(LayerDrop(self.selected, devices[number], split=split))

    def _take_off(self, device: str) -> None:
        """Leave layers open, or remove this device's part of a split one."""
        layers = self.views[device].list.chosen
        split = {item.layer for item in self.views[device].lane.items if item.part}
        if set(layers) & split and self._ground is not None:
            what = layers[0] if len(layers) == 1 else plural(len(layers), "layer")
            self._following = layers
            self._want(
                Change(lambda plan: take_off(plan, layers, device), f"take {what} off {device}")
            )
        else:
            self.do(LayerDrop(self.selected, OPEN))

    def _step(self, device: str, by: int) -> None:
        """Go to the neighbouring lane, at the same height."""
        names = [name for name, view in self.views.items() if not view.slim]
        place = names.index(device) + by
        if 0 <= place < len(names):
            here, there = self.views[device].list, self.views[names[place]].list
            self._clear_others(self.views[names[place]])
            there.enter(here.visualRect(here.currentIndex()).center().y())

    def open_menu(self, where: QPoint) -> None:
        """Offer the actions on the selection."""
        if self.selected:
            lane_menu(self, self.selected, self._board.lanes, self.judge, self.do).popup(where)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """End a drag: nobody sees any more where it would be dropped."""
        super().hideEvent(event)
        QDrag.cancel()

    def _drag(self, view: LaneView) -> None:
        layers = self.selected
        if not layers:
            return
        drag = QDrag(view.list)
        drag.setMimeData(carrying(layers))
        words = layers[0] if len(layers) == 1 else plural(len(layers), "layer")
        drag.setPixmap(label_of(words, self._theme.tokens, self.devicePixelRatioF()))
        drag.setHotSpot(QPoint(12, 13))
        drag.exec(Qt.DropAction.MoveAction | Qt.DropAction.LinkAction, Qt.DropAction.MoveAction)
        if self.hint is not None:
            self.hint.hide()

    def _hint(self, view: LaneView, text: str, where: QPoint) -> None:
        """Say beside the pointer why a drop is impossible."""
        if self.hint is None or self.hint.parentWidget() is not self.window():
            self.hint = PointerHint(self._theme, self.window())
        if text:
            self.hint.say(text, view.mapTo(self.window(), where))
        else:
            self.hint.hide()
        if not where.isNull():
            self._bring_into_view(view.mapTo(self, where))

    def _bring_into_view(self, spot: QPoint) -> None:
        """Scroll on while something is dragged along the edge of the visible part."""
        above = self.parentWidget()
        while above is not None and not isinstance(above, QScrollArea):
            above = above.parentWidget()
        inside = above.widget() if above is not None else None
        if above is not None and inside is not None:
            there = self.mapTo(inside, spot)
            above.ensureVisible(there.x(), there.y(), 0, EDGE)
