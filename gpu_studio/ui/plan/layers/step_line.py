"""The duration of a step, how it is known, and the button that measures it.

It is the timeline of the placement, computed here, or the measured step of a run of the plan.
Measuring times each layer on each device, in the background and on request.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpu_studio.common import figures
from gpu_studio.placement.schedule import StepTimeline
from gpu_studio.plan import AbsolutePlan, Placed, PlannedDevice
from gpu_studio.plan.edits import distribution as edits
from gpu_studio.plan.edits.change import Change
from gpu_studio.runs.questions.ask import AskCancelledError, AskError
from gpu_studio.runs.questions.plan_question import ask_times, times_question
from gpu_studio.runs.results.measured_steps import MeasuredStep, MeasuredSteps
from gpu_studio.runs.sources import not_allowed, not_looked_into
from gpu_studio.ui.kit import GRID, BackgroundTask, Button, Elided, Report, sentence
from gpu_studio.ui.kit.fields import Switch
from gpu_studio.ui.kit.step_view import StepPicture, StepRow, in_order
from gpu_studio.ui.plan.layers.forecast import (
    Forecast,
    Measurement,
    crossing_in_words,
    measurement_in,
    row_in_words,
    step_in_words,
    task_in_words,
)
from gpu_studio.ui.plan.plan_view import PlanView

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
    length = figures.span(step.seconds) if found.measured else BY_FLOPS
    length += f", {ESTIMATED}" if found.estimate else ""
    bubble = f" · bubble {figures.share(step.bubble)}" if len(found.used) > 1 else ""
    return StepPicture(
        rows, step.seconds, f"predicted step {length}{bubble} · {SHADES_IN_WORDS}", found.measured
    )


BY_FLOPS = "by FLOPs"
MEASURED = "timed"
ESTIMATED = "estimated"
_TIPS = {
    BY_FLOPS: (
        "By each layer's operations, as if all devices were equally fast. Measure to have seconds."
    ),
    ESTIMATED: (
        "By each layer's operations, {}. Large products reach that; small layers take longer. "
        "Measure to time each layer."
    ),
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
            timed = ESTIMATED if found.estimate else MEASURED
            known = timed if found.measured else BY_FLOPS
            self.words.setText(
                f"{known}: {step_in_words(found, step)} · {crossing_in_words(found)}"
            )
            self.words.setAccessibleDescription(_TIPS[known].format(found.estimate))

    def _act(self) -> None:
        if self._times.measuring:
            self._times.cancel()
        else:
            self._times.measure()

    def _keep(self, recompute: bool) -> None:
        text = "recompute activations" if recompute else "keep activations"
        self.edited.emit(Change(lambda plan: edits.set_recompute(plan, recompute), text))


MOST_REMEMBERED = 64
BEGINNING = "timing the layers"


@dataclass(frozen=True, slots=True)
class _Question:
    """A plan, the devices to measure on, and everything else that the times depend on."""

    plan: AbsolutePlan
    devices: tuple[PlannedDevice, ...]
    content: str


@dataclass(frozen=True, slots=True)
class _Ended:
    """The times, or why there are none; both are empty if the question was cancelled."""

    known: Measurement | None = None
    error: str = ""


class TimesReader(QObject):
    """Follows the plan that is shown.

    `changed` fires when times come or go, and when measuring begins or ends. `known` is what was
    measured of exactly the plan followed; None until `measure` was called. `command` is the command
    line that measures, by default the trainer's.
    """

    changed = Signal()

    def __init__(self, command: Sequence[str] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.known: Measurement | None = None
        self.waiting_for = ""
        self.error = ""
        self._command = command
        self._question: _Question | None = None
        self._task = BackgroundTask("layer-times", self)
        self._task.reported.connect(self._show_progress)
        self._task.done.connect(self._end)
        self._task.failed.connect(self._take_failure)
        self._remembered: dict[str, Measurement] = {}

    @property
    def measuring(self) -> bool:
        """Whether an answer is being waited for."""
        return self._task.busy

    def follow(self, plan: AbsolutePlan, devices: Sequence[PlannedDevice]) -> None:
        """Follow the times of `plan` on these devices, if they were measured."""
        content = json.dumps(times_question(plan, devices), sort_keys=True)
        # The logical devices are not part of the question, only of how its answer is read.
        content += json.dumps([(device.name, device.physical) for device in devices])
        if self._question is not None and content == self._question.content:
            return
        self._leave()
        self._question = _Question(plan, tuple(devices), content)
        self.known, self.error = self._remembered.get(content), ""
        self.changed.emit()

    def measure(self) -> None:
        """Measure the plan that is followed, again if it was measured already."""
        question = self._question
        if question is None or self.measuring:
            return
        if withheld := not_allowed(question.plan):
            self.error = sentence(not_looked_into(withheld))
        else:
            self.error, self.waiting_for = "", BEGINNING
            self._task.start_work(
                partial(_measure, question, self._command, self.known is not None)
            )
        self.changed.emit()

    def cancel(self) -> None:
        """Stop measuring; what is known stays."""
        if self.measuring:
            self._leave()
            self.changed.emit()

    def close(self) -> None:
        """Stop the process and the thread."""
        self.blockSignals(True)
        self._leave()
        self._task.close()

    def _leave(self) -> None:
        self.waiting_for = ""
        self._task.forget()

    def _show_progress(self, text: str) -> None:
        self.waiting_for = text
        self.changed.emit()

    def _take_failure(self, error: Exception) -> None:
        self._end(_Ended(error=f"The layers could not be timed: {error}."))

    def _end(self, ended: _Ended) -> None:
        self._leave()
        self.error = ended.error
        if ended.known is not None and self._question is not None:
            self.known = self._remembered[self._question.content] = ended.known
            while len(self._remembered) > MOST_REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)))
        self.changed.emit()


def _measure(
    question: _Question,
    command: Sequence[str] | None,
    fresh: bool,
    report: Report,
    cancelled: threading.Event,
) -> _Ended:
    """Measure, reporting what is being waited for; return how it ended."""
    plan, devices = question.plan, question.devices
    try:
        answer = ask_times(
            plan, devices, command=command, fresh=fresh, progress=report, cancel=cancelled
        )
        return _Ended(measurement_in(answer, devices))
    except AskCancelledError:
        return _Ended()
    except AskError as failure:
        return _Ended(error=sentence(f"the layers could not be timed: {failure}"))
    except ValueError as failure:
        return _Ended(error=f"The answer about the layers' times cannot be read: {failure}.")
    except OSError as failure:
        return _Ended(error=f"The layers could not be timed: {failure.strerror or failure}.")


MOST_TASKS_AT_ONCE = 800
"""About 15 ms.

A model of 300 layers that changes devices at each takes half a second with 32 micro-batches.
"""


class StepMaker(QObject):
    """`made(Forecast, Timeline)` fires for the last requested forecast.

    `waiting` fires while it takes long.
    """

    made = Signal(object, object)
    waiting = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._task = BackgroundTask("predicting", self)
        self._asked: Forecast | None = None
        self._task.done.connect(self._take)

    def make(self, found: Forecast | None) -> None:
        """Predict this step; None drops the request."""
        self._asked = found
        if found is None:
            self._task.forget()
        elif found.tasks <= MOST_TASKS_AT_ONCE:
            self._task.forget()
            self.made.emit(found, found.timeline())
        else:
            self.waiting.emit()
            self._task.start(found.timeline)

    def close(self) -> None:
        """Stop the thread."""
        self._task.close()

    def _take(self, result: StepTimeline) -> None:
        if self._asked is not None:
            self.made.emit(self._asked, result)


class MeasuredReader(QObject):
    """`known` is the step of the newest run that trained as the followed plan would.

    `changed` fires when `known` becomes another step. Without a directory of `runs` there is none.
    """

    changed = Signal()

    def __init__(self, runs: Path | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.known: MeasuredStep | None = None
        self._steps = MeasuredSteps(runs) if runs else None
        self._asked: AbsolutePlan | None = None
        self._task = BackgroundTask("measured steps", self)
        self._task.done.connect(self._tell)

    def follow(self, plan: AbsolutePlan | None) -> None:
        """Follow the step of this plan from now on; None follows none."""
        if plan != self._asked:
            self._asked = plan
            self._tell(None)
            self.look()

    def look(self) -> None:
        """Look again: a run may have reported its step meanwhile."""
        steps, asked = self._steps, self._asked
        if steps is None or asked is None:
            self._task.forget()
        else:
            self._task.start(lambda: _newest(steps, asked))

    def close(self) -> None:
        """Stop the thread."""
        self._task.close()

    def _tell(self, known: MeasuredStep | None) -> None:
        if known != self.known:
            self.known = known
            self.changed.emit()


def _newest(steps: MeasuredSteps, plan: AbsolutePlan) -> MeasuredStep | None:
    """The measured step of the newest run of this plan.

    None if there is none, or it cannot be read.
    """
    try:
        return steps.newest(plan)
    except OSError:
        return None
