"""The Layers tab in a window with its drag and drop, applied to a document with undo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from edited_part import Reported
from lane_plans import MACHINE, facts_of, placed_plan, view_of
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from gpu_studio.plan import Machine, Plan
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.distribution import places_of
from gpu_studio.ui.plan.layers.layer_list import LayerList
from gpu_studio.ui.plan.layers.layers_tab import LayersTab
from gpu_studio.ui.plan.layers.step_line import TimesReader
from gpu_studio.ui.plan.plan_document import PlanDocument

ALT, NO_KEY = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.NoModifier
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
ACTIONS = Qt.DropAction.MoveAction | Qt.DropAction.LinkAction
LEFT = Qt.MouseButton.LeftButton


class LanesBench(QWidget):
    """A window with the tab.

    What it wants is done to a document, and it is shown what comes of it.
    """

    def __init__(
        self, theme: Any, plan: Plan, machine: Machine, facts: Any, times: TimesReader | None
    ) -> None:
        super().__init__()
        self.machine = machine
        self.wanted: list[Change] = []
        self.tab = LayersTab(theme, times)
        self.reader = Reported()
        self.document = PlanDocument(self)
        column = QVBoxLayout(self)
        column.addWidget(self.tab)
        self.tab.set_facts(self.reader)
        self.tab.edited.connect(self._do)
        self.document.changed.connect(self.show_plan)
        self.reader.facts = facts
        self.document.begin(plan)
        self.reader.tell(facts)
        self.resize(760, 460)

    @property
    def plan(self) -> Plan:
        assert self.document.plan is not None
        return self.document.plan

    @property
    def places(self) -> dict[str, tuple[str, ...]]:
        return dict(places_of(self.plan))

    def list(self, device: str) -> LayerList:
        return self.tab.grid.views[device].list

    def show_plan(self) -> None:
        self.tab.show_view(view_of(self.plan, self.machine, self.reader.facts))

    def _do(self, change: Change) -> None:
        self.wanted.append(change)
        self.document.replace(change.make(self.plan), change.text, change.field)


@contextmanager
def opening(qtbot: Any, theme: Any) -> Iterator[Callable[..., LanesBench]]:
    """Open benches in windows of their own; nothing of them is left in the end."""
    benches: list[LanesBench] = []

    def open_(
        plan: Plan | None = None, machine: Machine = MACHINE, graph: Any = None, times: Any = None
    ) -> LanesBench:
        facts = facts_of(graph) if graph else facts_of()
        bench = LanesBench(theme, plan or placed_plan(), machine, facts, times)
        benches.append(bench)
        qtbot.addWidget(bench)
        bench.show()
        bench.activateWindow()
        qtbot.waitUntil(bench.isActiveWindow)
        return bench

    yield open_
    for bench in benches:
        bench.tab.close_readers()
        bench.reader.close()


def over(
    bench: LanesBench, device: str, data: QMimeData, held: Qt.KeyboardModifier = NO_KEY
) -> bool:
    """Bring data over a lane; whether it would take them."""
    view = bench.tab.grid.views[device]
    middle = view.rect().center()
    QApplication.sendEvent(view, QDragEnterEvent(middle, ACTIONS, data, LEFT, held))
    move = QDragMoveEvent(middle, ACTIONS, data, LEFT, held)
    QApplication.sendEvent(view, move)
    return move.isAccepted()


def drop(
    bench: LanesBench, device: str, data: QMimeData, held: Qt.KeyboardModifier = NO_KEY
) -> bool:
    view = bench.tab.grid.views[device]
    event = QDropEvent(QPointF(view.rect().center()), ACTIONS, data, LEFT, held)
    event.ignore()
    QApplication.sendEvent(view, event)
    return event.isAccepted()


def leave(bench: LanesBench, device: str) -> None:
    QApplication.sendEvent(bench.tab.grid.views[device], QDragLeaveEvent())


def middle(list_: LayerList, row: int) -> QPoint:
    return list_.visualRect(list_.rows.index(row)).center()
