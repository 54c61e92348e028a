"""What a step takes, by what that is known, and the button that measures it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpu_studio.placement.schedule import Timeline
from gpu_studio.plan import Placed
from gpu_studio.ui.models.plan.edits import distribution as edits
from gpu_studio.ui.models.plan.lanes.forecast import Forecast
from gpu_studio.ui.models.plan.lanes.words import crossing_in_words, step_in_words
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.models.plan.times_reader import TimesReader
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.fields import Switch
from gpu_studio.ui.widgets.labels import Elided

BY_FLOPS = "by FLOPs"
MEASURED = "timed"
_TIPS = {
    BY_FLOPS: "By each layer's operations, as if all devices were equally fast. Measure to have seconds.",
    MEASURED: "Every layer was timed on this machine, forward and backward.",
}


class StepLine(QWidget):
    """`edited(Change)` is the switch of recomputation; `measuring` and `cancelled` are the button."""

    edited = Signal(object)

    def __init__(self, times: TimesReader, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self.words = Elided(role="muted")
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.recompute = Switch("recompute activations", on="recompute", off="recompute")
        self.recompute.set_tip("A stage keeps only its inputs and computes the rest again: less memory, more time")
        self.button = Button("Measure", small=True)
        self.recompute.edited.connect(self._keep)
        self.button.clicked.connect(self._act)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.words, 1)
        row.addWidget(self.recompute)
        row.addWidget(self.button)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's choice, and whether it can be measured."""
        self.recompute.show_value((view.plan.distribution.placed or Placed()).recompute)
        can = not view.problems or self._times.measuring
        self.button.setEnabled(can)
        self.button.setText("Cancel" if self._times.measuring else "Measure")
        self.button.setAccessibleName("cancel measuring" if self._times.measuring else "measure the layers' times")
        tip = "Train a few steps on each kind of device, to know every layer's time"
        self.button.setToolTip(tip if can else "What stands in the plan's way must be mended first")

    def show_step(self, found: Forecast | None, step: Timeline | None) -> None:
        """Say what a step takes, or what is waited for."""
        if self._times.measuring:
            self.words.setText(sentence(self._times.waiting_for).rstrip(".") + "…")
        elif found is None or step is None:
            self.words.setText("")
        else:
            known = MEASURED if found.measured else BY_FLOPS
            self.words.setText(f"{known}: {step_in_words(found, step)} · {crossing_in_words(found)}")
            self.words.setAccessibleDescription(_TIPS[known])

    def _act(self) -> None:
        if self._times.measuring:
            self._times.cancel()
        else:
            self._times.measure()

    def _keep(self, recompute: bool) -> None:
        text = "recompute activations" if recompute else "keep activations"
        self.edited.emit(Change(lambda plan: edits.set_recompute(plan, recompute), text))
