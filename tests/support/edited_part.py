"""A part of the Plan page with its own plan, which applies the part's changes and shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gpu_studio.common.shown_values import DataSample
from gpu_studio.placement.plan_facts import (
    DataFacts,
    GraphLayer,
    ModelFacts,
    ModelGraph,
    PlanFacts,
)
from gpu_studio.plan import Machine, Plan, validate
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_view import PlanView

FOUR_CORES = Machine(cpu_cores=4, memory_mib=16_000, why_no_cards="there is none")
GRAPH = ModelGraph(
    "mlp",
    (
        GraphLayer("flatten", "Flatten", output_shape=(784,)),
        GraphLayer(
            "dense",
            "Dense",
            ("flatten",),
            (256,),
            200_960,
            200_960,
            803_840,
            803_840,
            1024,
            2048,
            401_408.0,
            8e5,
        ),
        GraphLayer(
            "logits", "Dense", ("dense",), (10,), 2570, 2570, 10_280, 10_280, 40, 80, 5120.0, 1e4
        ),
    ),
    (28, 28, 1),
    (10,),
    3136,
)
DIGITS = DataFacts(
    "digits",
    "classes",
    10,
    1000,
    100,
    50,
    (28, 28, 1),
    preview=(DataSample("7", bytes(range(4)), 2, 2, 1),),
)


class Reported(FactsReader):
    """A reader that knows what a test tells it, and notes what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = False
        self.asked: list[str] = []

    @property
    def asking(self) -> bool:
        return self.busy

    def tell(
        self,
        facts: PlanFacts | None = None,
        *,
        busy: bool = False,
        waiting: str = "",
        error: str = "",
    ) -> None:
        """Know this from now on, and say so."""
        self.past = facts or self.past
        self.facts, self.busy, self.waiting_for, self.error = facts, busy, waiting, error
        self.changed.emit()

    def cancel(self) -> None:
        self.asked.append("cancel")

    def retry(self, *, trains: bool = False) -> None:
        self.asked.append("train and retry" if trains else "retry")


KNOWN = PlanFacts(DIGITS, ModelFacts(GRAPH))


class Held:
    """Holds the plan that a part edits. `changes` are those that it asked for."""

    def __init__(self, part: Any, plan: Plan, base: Path | None = None) -> None:
        self.part = part
        self.plan = plan
        self.base = base
        self.changes: list[Change] = []
        part.edited.connect(self._apply)
        self.show()

    def show(self, plan: Plan | None = None) -> None:
        """Show the part this plan, or the one that there is, with all its problems."""
        self.plan = plan or self.plan
        problems = tuple(validate(self.plan, FOUR_CORES))
        path = self.base / "a.plan.toml" if self.base else None
        self.part.show_view(PlanView(self.plan, FOUR_CORES, problems, self.base or Path(), path))

    def _apply(self, change: Change) -> None:
        self.changes.append(change)
        self.show(change.make(self.plan))


def in_window(qtbot: Any, part: QWidget) -> QWidget:
    """The part in a window that is open and active."""
    part.resize(720, 600)
    qtbot.addWidget(part)
    part.show()
    part.activateWindow()
    qtbot.waitUntil(part.isActiveWindow)
    return part


def type_in(qtbot: Any, field: QWidget, text: str) -> None:
    """Type over what stands in a field."""
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    if text:
        qtbot.keyClicks(field, text)
    else:
        qtbot.keyClick(field, Qt.Key.Key_Delete)


def click(qtbot: Any, widget: QWidget) -> None:
    """Press with the mouse."""
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)
