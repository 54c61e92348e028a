"""The duration of a step, how it is known, and the button that measures it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpu_studio.common import figures
from gpu_studio.placement.schedule import StepTimeline
from gpu_studio.plan import Placed
from gpu_studio.plan.edits import distribution as edits
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.fields import Switch
from gpu_studio.ui.kit.labels import Elided
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.kit.step_picture import StepPicture, StepRow, in_order
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.layers.forecast import Forecast
from gpu_studio.ui.plan.layers.words import (
    crossing_in_words,
    row_in_words,
    step_in_words,
    task_in_words,
)
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.times_reader import TimesReader

SHADES_IN_WORDS = "forward strong, backward faint, update faintest"


def predicted_picture(found: Forecast, step: StepTimeline) -> StepPicture:
    """Return the predicted step, with a row for each device that has a layer."""
    colours = found.colours
    rows = tuple(
        StepRow(
            name=found.devices[place].name,
            place=colours[found.devices[place].name],
            title=f"predicted step on {found.devices[place].name}",
            description=row_in_words(place, found, step),
            spells=in_order(task for task in step.tasks if task.device == place),
            say=lambda task: task_in_words(task, found),
        )
        for place in found.used
    )
    length = figures.span(step.seconds) if found.measured else "by FLOPs"
    bubble = f" · bubble {figures.share(step.bubble)}" if len(found.used) > 1 else ""
    return StepPicture(
        rows, step.seconds, f"predicted step {length}{bubble} · {SHADES_IN_WORDS}", found.measured
    )


BY_FLOPS = "by FLOPs"
MEASURED = "timed"
_TIPS = {
    BY_FLOPS: "By each layer's operations, as if all devices were equally fast. Measure to have seconds.",
    MEASURED: "Every layer was timed on this machine, forward and backward.",
}


class StepLine(QWidget):
    """`edited(Change)` is the recomputation switch; `measuring` and `cancelled` are the button."""

    edited = Signal(object)

    def __init__(self, times: TimesReader, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self.words = Elided(role="muted")
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.recompute = Switch("recompute activations", on="recompute", off="recompute")
        self.recompute.set_tip(
            "A stage keeps only its inputs and computes the rest again: less memory, more time"
        )
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
        self.button.setAccessibleName(
            "cancel measuring" if self._times.measuring else "measure the layers' times"
        )
        tip = "Train a few steps on each kind of device, to know every layer's time"
        self.button.setToolTip(tip if can else "What stands in the plan's way must be mended first")

    def show_step(self, found: Forecast | None, step: StepTimeline | None) -> None:
        """Show how long a step takes, or what is being waited for."""
        if self._times.measuring:
            self.words.setText(sentence(self._times.waiting_for).rstrip(".") + "…")
        elif found is None or step is None:
            self.words.setText("")
        else:
            known = MEASURED if found.measured else BY_FLOPS
            self.words.setText(
                f"{known}: {step_in_words(found, step)} · {crossing_in_words(found)}"
            )
            self.words.setAccessibleDescription(_TIPS[known])

    def _act(self) -> None:
        if self._times.measuring:
            self._times.cancel()
        else:
            self._times.measure()

    def _keep(self, recompute: bool) -> None:
        text = "recompute activations" if recompute else "keep activations"
        self.edited.emit(Change(lambda plan: edits.set_recompute(plan, recompute), text))
