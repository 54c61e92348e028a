"""A run's history, folded from its events: the rules behind every page, table and command.

Steps, learning rates and samples of memory are gathered, and many at once are added to the curves.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final

import numpy as np
from msgspec.structs import replace

from gpu_studio.common.practice import in_words
from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import ENDED, AnyEvent, State, events
from gpu_studio.runs.reading.epochs import EpochTable
from gpu_studio.runs.reading.log_lines import LogLines
from gpu_studio.runs.reading.progress import Pace, reached
from gpu_studio.runs.reading.series import Array, MemorySeries, Series
from gpu_studio.runs.reading.workers import WorkersOfRun

MOST_MARKS: Final = 1000
_LEARNING_RATES: Final = 1 << 16
_TOGETHER: Final = 512


class History:
    """Everything known of a run from the events so far.

    Steps count from 1 along every curve: x is the number of global batches trained when the value
    was known, so that the last point of an epoch is at that epoch's end. Feed events in order
    through `apply`; first give what a resumed run inherits to `inherit`. Times never fall: `clock`
    sees to that.

    Memory is bounded however long the run: curves are thinned, and only the newest of many lines,
    warnings and epochs are kept.
    """

    def __init__(self, clock: SteadyClock | None = None) -> None:
        self.revision = 0
        self.started: events.Started | None = None
        self.devices: events.Devices | None = None
        self.model: events.Model | None = None
        self.by_xla: bool | None = None
        self.code: dict[tuple[str, str], events.Code] = {}
        self.placement: events.Placement | None = None
        self.timeline: events.Timeline | None = None
        self.communication: events.Communication | None = None
        self.finished: events.Finished | None = None
        self._elapsed = 0.0
        self.failure: events.Failed | None = None
        self.state: State = "starting"
        self.reason = ""
        self.epoch = 0
        self.step = 0
        self.loss: float | None = None
        self.last_time: float | None = None
        self.losses = Series("step", "loss", "time", by="loss", along="time")
        self.learning_rates = Series(
            "step", "value", "time", by="value", along="time", most=_LEARNING_RATES
        )
        self.epochs = EpochTable()
        self.memory: dict[str, MemorySeries] = {}
        self.warnings: deque[events.Warned] = deque(maxlen=MOST_MARKS)
        self.phases: deque[events.PhaseBegan] = deque(maxlen=MOST_MARKS)
        self.states: deque[events.StateChanged] = deque(maxlen=MOST_MARKS)
        self.log = LogLines()
        self.workers = WorkersOfRun()
        self.pace = Pace()
        self._checkpoints: dict[str, events.Checkpoint] = {}
        self.clock = clock or SteadyClock()
        self._gathered = _Gathered()

    # From the events

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
        """Whether no more events will come."""
        return self.state in ENDED

    @property
    def checkpoints(self) -> list[events.Checkpoint]:
        """The checkpoints that still exist, in the order they were written."""
        return list(self._checkpoints.values())

    @property
    def log_dropped(self) -> int:
        """How many of the oldest log lines are no longer kept."""
        return self.log.total - len(self.log)

    # Derived values

    @property
    def epochs_total(self) -> int | None:
        """The epochs of the plan; None until the model is built."""
        return self.model.epochs if self.model else None

    @property
    def steps_total(self) -> int | None:
        """The global batches of the whole plan; None until they are known.

        Of a stream whose length only reading it can tell, that is after the first epoch.
        """
        model = self.model
        if model is None or model.steps_per_epoch is None:
            return None
        return model.epochs * model.steps_per_epoch

    @property
    def reached(self) -> str:
        """How far the training came, in words: `after 35 of 400 epochs and 14 steps`."""
        return reached(
            self.step, self.model.steps_per_epoch if self.model else None, self.epochs_total
        )

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
        """The part (0 to 1) of the last two seconds' steps that was spent waiting for data; None.

        Not known.
        """
        return self.pace.input_share

    @property
    def eta_seconds(self) -> float | None:
        """Seconds of training left, without pauses; None if unknown, 0 once the run has ended."""
        if self.ended:
            return 0.0
        if self.model is None or self.steps_total is None:
            return None
        finished = self.epochs.last.epoch if self.epochs.last else 0
        return self.pace.seconds_for(
            max(0, self.steps_total - self.step), max(0, self.model.epochs - finished)
        )

    @property
    def seconds(self) -> float | None:
        """How long the run has lasted, in seconds; None before the first event.

        By the trainer's monotonic clock if its events have it; otherwise by the events' times.
        """
        if self.started is None or self.last_time is None:
            return None
        if self._elapsed:
            return self._elapsed
        return max(0.0, self.last_time - self.started.time)

    def time_of(self, moment: float) -> float:
        """Convert a time of the machine's clock to the run's: the clock may have been set."""
        return moment + self.clock.behind

    @property
    def _completed(self) -> bool:
        return self.finished is not None and self.finished.reason == "completed"

    # Folding

    def apply(self, event: AnyEvent) -> None:
        """Process the run's next event."""
        self._take(event)
        self._pour()

    def apply_all(self, batch: Iterable[AnyEvent]) -> None:
        """Process the run's next events, many times faster than one by one."""
        rest = iter(batch)
        while together := list(islice(rest, _TOGETHER)):
            for event in together:
                self._take(event)
            self._pour()

    def inherit(self, event: AnyEvent) -> None:
        """Process an event of a run that this one resumed: steps, epochs and learning rates."""
        self.inherit_all((event,))

    def inherit_all(self, batch: Iterable[AnyEvent]) -> None:
        """Process many events of such a run."""
        rest = iter(batch)
        while together := list(islice(rest, _TOGETHER)):
            for event in together:
                self.revision += 1
                self._take_trained(event, self._moment_of(event))
            self._pour()

    def foresee(self, later: History) -> None:
        """Show the curves of `later`, a sample of future events, until those are applied."""
        self.losses.foresee(*(later.losses.column(name) for name in ("step", "loss", "time")))
        self.learning_rates.foresee(
            *(later.learning_rates.column(name) for name in ("step", "value", "time"))
        )
        self.epochs.foresee(later.epochs)
        for device, series in later.memory.items():
            self.memory.setdefault(device, MemorySeries(device)).foresee(series)

    def share(self, other: History) -> None:
        """From now on, show the growing curves and lists of `other`, and the newest figures."""
        self.losses, self.learning_rates, self.epochs = (
            other.losses,
            other.learning_rates,
            other.epochs,
        )
        self.warnings, self.states, self.log = other.warnings, other.states, other.log
        self.workers = other.workers
        self._checkpoints = other._checkpoints
        for device, series in other.memory.items():
            self.memory.setdefault(device, MemorySeries(device)).share(series)

    def conclude_lost(self, reason: str = "") -> None:
        """Record that the trainer is gone without a final event, which only a reader can tell."""
        if not self.ended:
            self.revision += 1
            self.state, self.reason = "lost", reason

    def _moment_of(self, event: AnyEvent) -> float:
        # The writer sets the time. If it is missing, the previous event's counts.
        time = self.clock.at(event.time or math.nan, event.elapsed)
        return time if math.isfinite(time) else event.time

    def _pour(self) -> None:
        self._gathered.pour(self.losses, self.memory, self.learning_rates)

    def _take(self, event: AnyEvent) -> None:
        self.revision += 1
        self.last_time = time = self._moment_of(event)
        # What may still be told after the last event does not make the run longer.
        if event.elapsed > 0 and not (self.finished or self.failure):
            self._elapsed = event.elapsed
        # A long run is made of these: their times stand beside them, without a copy of each.
        match event:
            case events.Steps():
                self.pace.add(event, time)
                self._take_trained(event, time)
            case events.Memory():
                self._gathered.memory.append((time, event))
            case events.LearningRate():
                self._take_trained(event, time)
            case _:
                self._take_seldom(event if time == event.time else replace(event, time=time))

    def _take_seldom(self, event: AnyEvent) -> None:
        match event:
            case events.Log() | events.PhaseBegan() | events.Xla():
                self._say(event)
            case events.ClusterStarted() | events.Workers():
                self.workers.take(event)
            case events.Started():
                self._start(event)
            case events.StateChanged():
                self.states.append(event)
                self._change_state(event.state, event.reason)
            case events.Code():
                self.code[event.part, event.file] = event
            case events.Epoch():
                self._take_trained(event, event.time)
            case _:
                self._take_rare(event)

    def _say(self, event: events.Log | events.PhaseBegan | events.Xla) -> None:
        if isinstance(event, events.PhaseBegan):
            self.phases.append(event)
        if isinstance(event, events.Xla):
            self.by_xla = event.compiles
        words = event.message if isinstance(event, events.Log) else event.words
        if words:
            self.log.say(event.time, "info", words)

    def _take_trained(self, event: AnyEvent, time: float) -> None:
        match event:
            case events.Steps() if event.losses:
                self._gathered.steps.append((time, event))
                self.loss = event.losses[-1]
                self.step, self.epoch = event.first_step + len(event.losses), event.epoch
            case events.Epoch():
                self.epochs.add(event if time == event.time else replace(event, time=time))
                self.step, self.epoch = event.step, event.epoch
                self._learn_length(event)
            case events.LearningRate():
                self._gathered.rates.append((time, event))

    def _learn_length(self, event: events.Epoch) -> None:
        """Learn the length of an epoch where the data could not tell it beforehand."""
        if self.model is not None and self.model.steps_per_epoch is None and event.epoch:
            self.model = replace(self.model, steps_per_epoch=round(event.step / event.epoch))

    def _take_rare(self, event: AnyEvent) -> None:
        match event:
            case events.Devices():
                self.devices = event
            case events.Model():
                self.model = event
                self._begin_epoch(event)
            case events.Placement():
                self.placement = event
            case events.Timeline():
                self.timeline = event
            case events.Communication():
                self.communication = event
            case events.Checkpoint():
                self._add_checkpoint(event)
            case events.Warned():
                self.warnings.append(event)
                self.log.say(event.time, "warning", f"{event.message} {event.suggestion}".rstrip())
            case events.Finished():
                self._finish(event)
            case events.Failed():
                self._fail(event)

    @property
    def practice(self) -> str:
        """The practice cards that it was trained on, `4 × 2 GiB`; empty for real cards."""
        return in_words(self.started.practice) if self.started else ""

    def _start(self, event: events.Started) -> None:
        self.started = event
        self.step = max(self.step, event.from_step)
        self.epoch = max(self.epoch, event.from_epoch)

    def _begin_epoch(self, model: events.Model) -> None:
        """Be in the next epoch, where the run goes on from the end of one."""
        begun, length = self.started, model.steps_per_epoch
        at_start = begun is not None and 0 < begun.from_step == self.step
        if at_start and length and self.step % length == 0:
            self.epoch = min(self.step // length + 1, model.epochs)

    def _change_state(self, state: State, reason: str) -> None:
        self.state, self.reason = state, reason
        self.pace.state(state)

    def _finish(self, event: events.Finished) -> None:
        self.finished = event
        self.step, self.epoch = event.step, event.epoch
        self._change_state(event.state, event.reason)

    def _fail(self, event: events.Failed) -> None:
        self.failure = event
        self.log.say(event.time, "error", event.message)
        self._change_state(event.state, event.message)

    def _add_checkpoint(self, event: events.Checkpoint) -> None:
        for name in (*event.removed, event.name):
            self._checkpoints.pop(name, None)
        self._checkpoints[event.name] = event


class _Gathered:
    """Steps, memory and learning rates waiting to be added to their curves, each with its time.

    That is the time by a `SteadyClock`, which may be another than the event's own.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[float, events.Steps]] = []
        self.memory: list[tuple[float, events.Memory]] = []
        self.rates: list[tuple[float, events.LearningRate]] = []

    def pour(self, losses: Series, memory: dict[str, MemorySeries], rates: Series) -> None:
        """Add everything to the curves, and clear."""
        if self.steps:
            losses.add(*_step_points(self.steps))
            self.steps.clear()
        if self.memory:
            _pour_memory(self.memory, memory)
            self.memory.clear()
        if self.rates:
            rates.add_rows(
                [(reported.step + 1, reported.value, time) for time, reported in self.rates]
            )
            self.rates.clear()


def _step_points(reported: Sequence[tuple[float, events.Steps]]) -> tuple[Array, Array, Array]:
    """The number, loss and time of each step of these calls, each of shape (steps,).

    Steps count from 1. Only the end of a call has a time: its steps are spread evenly over it.
    """
    calls = [event for _, event in reported]
    counts = np.array([len(event.losses) for event in calls])
    losses = _losses_of(calls)
    ends = np.array([time for time, _ in reported])
    step_seconds = np.array([max(event.seconds, 0.0) for event in calls]) / np.maximum(counts, 1)
    before = np.arange(len(losses)) - np.repeat(np.cumsum(counts) - counts, counts)
    steps = np.repeat(np.array([event.first_step + 1.0 for event in calls]), counts) + before
    times = (
        np.repeat(ends - step_seconds * (counts - 1), counts)
        + np.repeat(step_seconds, counts) * before
    )
    return steps, losses, times


def _losses_of(calls: Sequence[events.Steps]) -> Array:
    try:
        return np.fromiter(chain.from_iterable(event.losses for event in calls), dtype=np.float64)
    except TypeError:  # some are no numbers
        losses = list(chain.from_iterable(event.losses for event in calls))
        return np.array(losses, dtype=np.float64)


def _pour_memory(
    reported: Sequence[tuple[float, events.Memory]], into: dict[str, MemorySeries]
) -> None:
    """Add samples to the series of their devices, which are created if needed."""
    found: dict[str, tuple[list[float], list[events.DeviceMemory]]] = {}
    for time, event in reported:
        for sample in event.devices:
            if (of_device := found.get(sample.device)) is None:
                of_device = found[sample.device] = ([], [])
            of_device[0].append(time)
            of_device[1].append(sample)
    for device, (times, samples) in found.items():
        if device not in into:
            into[device] = MemorySeries(device)
        into[device].add_all(times, samples)
