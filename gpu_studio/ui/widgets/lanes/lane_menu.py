"""What can be done with the layers that are selected, as a menu."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.ui.models.plan.lanes.board import OPEN, Lane
from gpu_studio.ui.models.plan.lanes.drops import Drop, Verdict


def lane_menu(
    parent: QWidget,
    layers: tuple[str, ...],
    lanes: Sequence[Lane],
    judge: Callable[[Drop], Verdict],
    wanted: Callable[[Drop], object],
) -> QMenu:
    """A menu that tells `wanted` what a person chooses. It goes when it is closed."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for title, keys, split in (("Move to", "Ctrl+{}", False), ("Split with", "Ctrl+Alt+{}", True)):
        part = menu.addMenu(title)
        part.setToolTipsVisible(True)
        for number, lane in enumerate(_devices(lanes), 1):
            text = f"{lane.device}\t{keys.format(number)}" if number < 10 else lane.device
            _add(part, text, Drop(layers, lane.device, split=split), judge, wanted)
    menu.addSeparator()
    _add(menu, "Leave open\tDel", Drop(layers, OPEN), judge, wanted)
    menu.setToolTipsVisible(True)
    return menu


def _devices(lanes: Sequence[Lane]) -> list[Lane]:
    return [lane for lane in lanes if lane.place is not None]


def _add(
    menu: QMenu, text: str, drop: Drop, judge: Callable[[Drop], Verdict], wanted: Callable[[Drop], object]
) -> None:
    verdict = judge(drop)
    action = menu.addAction(text)
    action.setEnabled(verdict.change is not None)
    action.setToolTip("" if verdict.change else verdict.said)
    action.triggered.connect(lambda: wanted(drop))
