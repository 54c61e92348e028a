"""Measure each layer's time on each device, in the background and on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpu_studio.plan import Plan, PlannedDevice
from gpu_studio.runs.own_code import not_allowed, not_looked_into
from gpu_studio.runs.questions.ask import AskCancelledError, AskError
from gpu_studio.runs.questions.times_question import ask_times, times_question
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.kit.task import BackgroundTask, Report
from gpu_studio.ui.plan.layers.measurement import Measurement, measurement_in

MOST_REMEMBERED = 64
BEGINNING = "timing the layers"


@dataclass(frozen=True, slots=True)
class _Question:
    """A plan, where its relative file names start, the devices to measure on.

    It also has everything else that the times depend on.
    """

    plan: Plan
    base: Path
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

    def follow(self, plan: Plan, base: Path, devices: Sequence[PlannedDevice]) -> None:
        """Follow the times of `plan` on these devices, if they were measured."""
        content = json.dumps(times_question(plan, base, devices), sort_keys=True)
        # The logical devices are not part of the question, only of how its answer is read.
        content += json.dumps([(device.name, device.physical) for device in devices])
        if self._question is not None and content == self._question.content:
            return
        self._leave()
        self._question = _Question(plan, base, tuple(devices), content)
        self.known, self.error = self._remembered.get(content), ""
        self.changed.emit()

    def measure(self) -> None:
        """Measure the plan that is followed, again if it was measured already."""
        question = self._question
        if question is None or self.measuring:
            return
        if withheld := not_allowed(question.plan, question.base):
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
    plan, base, devices = question.plan, question.base, question.devices
    try:
        answer = ask_times(
            plan, base, devices, command=command, fresh=fresh, progress=report, cancel=cancelled
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
