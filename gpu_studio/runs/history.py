"""A run's events folded into what a page or a table shows. Here are the rules; pages and command line only draw."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from gpu_studio.runs import events
from gpu_studio.runs.epochs import EpochTable
from gpu_studio.runs.events import AnyEvent, State
from gpu_studio.runs.memory import MemorySeries
from gpu_studio.runs.pace import Pace
from gpu_studio.runs.series import Series

LOG_LINES: Final = 10_000
_LEARNING_RATES: Final = 1 << 18
ENDED: Final = ("finished", "failed", "lost")
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line for the reader, at `time` (seconds since 1970, UTC)."""

    time: float
    level: Level
    message: str


class History:
    """Everything that is known of a run from the events so far.

    Steps are counted from 1 along every curve: x is the number of global batches trained when the value was known,
    so that the last point of an epoch lies under that epoch's end. Feed events in order through `apply`; put what a
    resumed run inherits first, through `inherit`.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.started: events.Started | None = None
        self.devices: events.Devices | None = None
        self.model: events.Model | None = None
        self.placement: events.Placement | None = None
        self.timeline: events.Timeline | None = None
        self.finished: events.Finished | None = None
        self.failure: events.Failed | None = None
        self.state: State = "starting"
        self.reason = ""
        self.epoch = 0
        self.step = 0
        self.loss: float | None = None
        self.last_time: float | None = None
        self.losses = Series("step", "loss", "time", by="loss")
        self.learning_rates = Series("step", "value", "time", by="value", most=_LEARNING_RATES)
        self.epochs = EpochTable()
        self.memory: dict[str, MemorySeries] = {}
        self.checkpoints: list[events.Checkpoint] = []
        self.warnings: list[events.Warned] = []
        self.log: deque[LogLine] = deque(maxlen=LOG_LINES)
        self.log_lines = 0
        self.pace = Pace()

    # What was told

    @property
    def run(self) -> str:
        """The run's id; empty before the first event."""
        return self.started.run if self.started else ""

    @property
    def plan(self) -> str:
        """The name of the plan; empty before the first event."""
        return self.started.plan if self.started else ""

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ENDED

    @property
    def log_dropped(self) -> int:
        """How many of the oldest log lines are no longer kept."""
        return self.log_lines - len(self.log)

    # What follows from it

    @property
    def epochs_total(self) -> int | None:
        """The epochs of the plan; None until the model is built."""
        return self.model.epochs if self.model else None

    @property
    def steps_total(self) -> int | None:
        """The global batches of the whole plan; None until the model is built."""
        return self.model.epochs * self.model.steps_per_epoch if self.model else None

    @property
    def progress(self) -> float | None:
        """The part (0 to 1) of the plan that is trained; None until the model is built."""
        if not self.steps_total:
            return None
        return 1.0 if self._completed else min(1.0, self.step / self.steps_total)

    @property
    def epoch_progress(self) -> float | None:
        """The part (0 to 1) of the current epoch that is trained; None until the model is built."""
        if self.model is None or not self.model.steps_per_epoch:
            return None
        return min(1.0, max(0.0, self.step / self.model.steps_per_epoch - max(0, self.epoch - 1)))

    @property
    def samples_per_second(self) -> float | None:
        """Throughput of the last two seconds; None unless the run is training."""
        return self.pace.samples_per_second if self.state in ("running", "stopping") else None

    @property
    def input_share(self) -> float | None:
        """The part (0 to 1) of the last two seconds' steps that was spent waiting for data; None: not known."""
        return self.pace.input_share

    @property
    def eta_seconds(self) -> float | None:
        """Seconds of training left, pauses not counted; None while it cannot be told, 0 once the run has ended."""
        if self.ended:
            return 0.0
        if self.model is None or self.steps_total is None:
            return None
        finished = self.epochs.last.epoch if self.epochs.last else 0
        return self.pace.seconds_for(max(0, self.steps_total - self.step), max(0, self.model.epochs - finished))

    @property
    def seconds(self) -> float | None:
        """Wall time from the first event to the newest, in seconds; None before the first."""
        if self.started is None or self.last_time is None:
            return None
        return max(0.0, self.last_time - self.started.time)

    @property
    def _completed(self) -> bool:
        return self.finished is not None and self.finished.reason == "completed"

    # Folding

    def apply(self, event: AnyEvent) -> None:
        """Take in the run's next event."""
        self.revision += 1
        self.last_time = event.time
        match event:
            case events.Steps():
                self.pace.add(event)
                self._add_steps(event)
            case events.Memory():
                self._add_memory(event)
            case events.LearningRate():
                self._add_learning_rate(event)
            case events.Epoch():
                self._add_epoch(event)
            case events.Log():
                self._say(event.time, "info", event.message)
            case events.Started():
                self._start(event)
            case events.StateChanged():
                self._change_state(event.state, event.reason)
            case _:
                self._apply_rare(event)

    def apply_all(self, batch: Iterable[AnyEvent]) -> None:
        """Take in the run's next events."""
        for event in batch:
            self.apply(event)

    def inherit(self, event: AnyEvent) -> None:
        """Take in what a run that this one was resumed from had trained: its steps, epochs and learning rates."""
        self.revision += 1
        match event:
            case events.Steps():
                self._add_steps(event)
            case events.Epoch():
                self._add_epoch(event)
            case events.LearningRate():
                self._add_learning_rate(event)

    def conclude_lost(self, reason: str = "") -> None:
        """Take note that the trainer is gone without a last word, which only a reader can tell."""
        if not self.ended:
            self.revision += 1
            self.state, self.reason = "lost", reason

    def _apply_rare(self, event: AnyEvent) -> None:
        match event:
            case events.Devices():
                self.devices = event
            case events.Model():
                self.model = event
            case events.Placement():
                self.placement = event
            case events.Timeline():
                self.timeline = event
            case events.Checkpoint():
                self._add_checkpoint(event)
            case events.Warned():
                self.warnings.append(event)
                self._say(event.time, "warning", f"{event.message} {event.suggestion}".rstrip())
            case events.Finished():
                self._finish(event)
            case events.Failed():
                self._fail(event)

    def _start(self, event: events.Started) -> None:
        self.started = event
        self.step = max(self.step, event.from_step)
        self.epoch = max(self.epoch, event.from_epoch)

    def _change_state(self, state: State, reason: str) -> None:
        self.state, self.reason = state, reason
        self.pace.state(state)

    def _finish(self, event: events.Finished) -> None:
        self.finished = event
        self.step, self.epoch = event.step, event.epoch
        self._change_state("finished", event.reason)

    def _fail(self, event: events.Failed) -> None:
        self.failure = event
        self._say(event.time, "error", event.message)
        self._change_state("failed", event.message)

    def _add_steps(self, event: events.Steps) -> None:
        count = len(event.losses)
        if not count:
            return
        steps = np.arange(event.first_step + 1, event.first_step + count + 1, dtype=np.float64)
        # The call's wall time is told once, at its end: its steps are spread evenly over it.
        times = event.time - event.seconds * np.arange(count - 1, -1, -1, dtype=np.float64) / count
        self.losses.add(steps, np.array(event.losses, dtype=np.float64), times)
        self.loss = event.losses[-1]
        self.step, self.epoch = event.first_step + count, event.epoch

    def _add_memory(self, event: events.Memory) -> None:
        for sample in event.devices:
            if sample.device not in self.memory:
                self.memory[sample.device] = MemorySeries(sample.device)
            self.memory[sample.device].add(event.time, sample)

    def _add_learning_rate(self, event: events.LearningRate) -> None:
        self.learning_rates.add(event.step + 1, event.value, event.time)

    def _add_epoch(self, event: events.Epoch) -> None:
        self.epochs.add(event)
        self.step, self.epoch = event.step, event.epoch

    def _add_checkpoint(self, event: events.Checkpoint) -> None:
        gone = set(event.removed)
        self.checkpoints = [kept for kept in self.checkpoints if kept.name not in gone | {event.name}]
        self.checkpoints.append(event)

    def _say(self, time: float, level: Level, message: str) -> None:
        self.log_lines += 1
        self.log.append(LogLine(time, level, message))
