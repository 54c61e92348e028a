"""How long each layer takes on each device, measured in the background when a person asks for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.plan import LogicalDevice, Plan
from gpu_studio.runs.questions.ask import AskCancelledError, AskError
from gpu_studio.runs.questions.times_question import ask_times, times_question
from gpu_studio.ui.models.background import Background, Tell
from gpu_studio.ui.models.plan.lanes.measurement import Measurement, measurement_in
from gpu_studio.ui.models.plan.own_code import not_allowed, not_looked_into
from gpu_studio.ui.units import sentence

LOOK_MS = 50
MOST_REMEMBERED = 64
BEGINNING = "timing the layers"


@dataclass(frozen=True, slots=True)
class _Question:
    """A plan, where its relative file names start, the devices to measure on, and all that the times depend on."""

    plan: Plan
    base: Path
    devices: tuple[LogicalDevice, ...]
    content: str


@dataclass(frozen=True, slots=True)
class _Ended:
    """The times, or why there are none; both are empty where the asking was given up."""

    known: Measurement | None = None
    error: str = ""


_Told = str | _Ended


class TimesReader(QObject):
    """Follows the plan that is shown. `changed` fires when times come or go, and when measuring begins or ends.

    `known` is what was measured of exactly the plan followed; None until `measure` was asked for. `command`
    is the command line that is asked, by default the trainer's.
    """

    changed = Signal()

    def __init__(self, command: Sequence[str] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.known: Measurement | None = None
        self.waiting_for = ""
        self.error = ""
        self._command = command
        self._question: _Question | None = None
        self._measuring: Background[_Told] | None = None
        self._leaving: list[Background[_Told]] = []
        self._remembered: dict[str, Measurement] = {}
        self._looking = QTimer(self)
        self._looking.setInterval(LOOK_MS)
        self._looking.timeout.connect(self._look)

    @property
    def measuring(self) -> bool:
        """Whether an answer is awaited."""
        return self._measuring is not None

    def follow(self, plan: Plan, base: Path, devices: Sequence[LogicalDevice]) -> None:
        """Give the times of `plan` on these devices, if they were measured."""
        content = json.dumps(times_question(plan, base, devices), sort_keys=True)
        # Which logical devices there are is no part of the question, but of how its answer is read.
        content += json.dumps([(device.name, device.physical) for device in devices])
        if self._question is not None and content == self._question.content:
            return
        self._leave()
        self._question = _Question(plan, base, tuple(devices), content)
        self.known, self.error = self._remembered.get(content), ""
        self.changed.emit()

    def measure(self) -> None:
        """Measure the plan that is followed, anew if it was measured already."""
        question = self._question
        if question is None or self.measuring:
            return
        if withheld := not_allowed(question.plan, question.base):
            self.error = sentence(not_looked_into(withheld))
        else:
            self.error, self.waiting_for = "", BEGINNING
            self._measuring = _measuring(question, self._command, fresh=self.known is not None)
            self._looking.start()
        self.changed.emit()

    def cancel(self) -> None:
        """Give up measuring; what is known stays."""
        if self.measuring:
            self._leave()
            self.changed.emit()

    def close(self) -> None:
        """Leave no process and no thread behind."""
        self.blockSignals(True)
        self._leave()
        for measuring in self._leaving:
            measuring.wait()
        self._leaving.clear()

    def _leave(self) -> None:
        self._looking.stop()
        self.waiting_for = ""
        self._leaving = [each for each in self._leaving if each.alive]
        if self._measuring is not None:
            self._measuring.cancel()
            self._leaving.append(self._measuring)
            self._measuring = None

    def _look(self) -> None:
        told = list(self._measuring.told()) if self._measuring else []
        for each in told:
            if isinstance(each, str):
                self.waiting_for = each
            else:
                self._end(each)
        if told:
            self.changed.emit()

    def _end(self, ended: _Ended) -> None:
        self._leave()
        self.error = ended.error
        if ended.known is not None and self._question is not None:
            self.known = self._remembered[self._question.content] = ended.known
            while len(self._remembered) > MOST_REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)))


def _measuring(question: _Question, command: Sequence[str] | None, *, fresh: bool) -> Background[_Told]:
    """Measure from now on: what is being waited for is told, and last how it ended."""

    def ask(tell: Tell[_Told], cancelled: threading.Event) -> None:
        try:
            tell(_Ended(asked(tell, cancelled)))
        except AskCancelledError:
            tell(_Ended())
        except AskError as failure:
            tell(_Ended(error=sentence(f"the layers could not be timed: {failure}")))
        except ValueError as failure:
            tell(_Ended(error=f"The answer about the layers' times cannot be read: {failure}."))
        except OSError as failure:
            tell(_Ended(error=f"The layers could not be timed: {failure.strerror or failure}."))

    def asked(tell: Tell[_Told], cancelled: threading.Event) -> Measurement:
        plan, base, devices = question.plan, question.base, question.devices
        answer = ask_times(plan, base, devices, command=command, fresh=fresh, progress=tell, cancel=cancelled)
        return measurement_in(answer, devices)

    return Background("layer-times", ask)
