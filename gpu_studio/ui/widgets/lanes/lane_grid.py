"""All lanes side by side, in as many rows as they need, with one selection over all of them."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QDrag, QResizeEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from gpu_studio.ui.models.plan.edits.placing import take_off
from gpu_studio.ui.models.plan.lanes.board import OPEN, Board, Lane
from gpu_studio.ui.models.plan.lanes.drops import Drop, Ground, Verdict, verdict
from gpu_studio.ui.models.plan.lanes.mime import carrying
from gpu_studio.ui.models.plan.plan_view import Change
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.units import plural
from gpu_studio.ui.widgets.lanes.carried_label import label_of
from gpu_studio.ui.widgets.lanes.drop_mark import PointerHint
from gpu_studio.ui.widgets.lanes.lane_menu import lane_menu
from gpu_studio.ui.widgets.lanes.lane_view import SLIM, LaneView
from gpu_studio.ui.widgets.tab_order import tab_after

GAP = 6
NARROWEST = 118
LOWEST = 168
EDGE = 28
"""So near to the edge of what is seen, a drag scrolls."""
MANY_LAYERS = 32
"""From so many layers on, each has one line only."""
EMPTY = Verdict("The model's layers are not known yet.")


class LaneGrid(QWidget):
    """`edited(Change)` is what a person wants, `refused(text)` why something asked for by key or menu cannot be.

    `chosen(layers)` tells which layers are selected.
    """

    edited = Signal(object)
    refused = Signal(str)
    chosen = Signal(tuple)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ground: Ground | None = None
        self._board = Board()
        self._judged: dict[Drop, Verdict] = {}
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
        return tuple(dict.fromkeys(layer for view in self.views.values() for layer in view.list.chosen))

    def select(self, layers: tuple[str, ...]) -> None:
        """Select these layers, wherever they are."""
        for view in self.views.values():
            view.list.choose(layers)

    def judge(self, drop: Drop) -> Verdict:
        """What a drop would come to; known after the first time, because the pointer asks at every move."""
        if drop not in self._judged:
            self._judged[drop] = verdict(drop, self._ground) if self._ground else EMPTY
        return self._judged[drop]

    def do(self, drop: Drop) -> None:
        """Want what a drop comes to, and say why where it cannot be."""
        found = self.judge(drop)
        if found.change is None:
            self.refused.emit(found.said)
            return
        self._following = drop.layers
        self._want(found.change)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Have as many lanes in a row as there is room for."""
        super().resizeEvent(event)
        self._lay_out()

    def _want(self, change: Change) -> None:
        self.refused.emit("")
        self.edited.emit(change)
        self._following = ()

    def _follow(self) -> None:
        """Select what was moved, and let the keys go on where it is."""
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
            view.setGeometry(x, y, left + round((column + 1) * width) - x - GAP, round((row + 1) * height) - y - GAP)

    def _clear_others(self, view: LaneView) -> None:
        for other in self.views.values():
            if other is not view:
                other.list.clearSelection()

    # What a person does

    def send(self, number: int, split: bool) -> None:
        """Move what is selected to a device by its number from 0 on, or split it with that."""
        devices = [lane.device for lane in self._board.lanes if lane.place is not None]
        if number >= len(devices):
            self.refused.emit(f"There is no device number {number + 1}.")
        else:
            self.do(Drop(self.selected, devices[number], split=split))

    def _take_off(self, device: str) -> None:
        """Leave layers open, or of a split one take the part away that is here."""
        layers = self.views[device].list.chosen
        split = {item.layer for item in self.views[device].lane.items if item.part}
        if set(layers) & split and self._ground is not None:
            what = layers[0] if len(layers) == 1 else plural(len(layers), "layer")
            self._following = layers
            self._want(Change(lambda plan: take_off(plan, layers, device), f"take {what} off {device}"))
        else:
            self.do(Drop(self.selected, OPEN))

    def _step(self, device: str, by: int) -> None:
        """Go to the lane beside, at the same height."""
        names = [name for name, view in self.views.items() if not view.slim]
        place = names.index(device) + by
        if 0 <= place < len(names):
            here, there = self.views[device].list, self.views[names[place]].list
            self._clear_others(self.views[names[place]])
            there.enter(here.visualRect(here.currentIndex()).center().y())

    def open_menu(self, where: QPoint) -> None:
        """Offer what can be done with what is selected."""
        if self.selected:
            lane_menu(self, self.selected, self._board.lanes, self.judge, self.do).popup(where)

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
        """Say beside the pointer why a drop cannot be."""
        if self.hint is None or self.hint.parentWidget() is not self.window():
            self.hint = PointerHint(self._theme, self.window())
        if text:
            self.hint.say(text, view.mapTo(self.window(), where))
        else:
            self.hint.hide()
        if not where.isNull():
            self._bring_into_view(view.mapTo(self, where))

    def _bring_into_view(self, spot: QPoint) -> None:
        """Scroll on while something is dragged along the edge of what is seen."""
        above = self.parentWidget()
        while above is not None and not isinstance(above, QScrollArea):
            above = above.parentWidget()
        inside = above.widget() if above is not None else None
        if above is not None and inside is not None:
            there = self.mapTo(inside, spot)
            above.ensureVisible(there.x(), there.y(), 0, EDGE)
