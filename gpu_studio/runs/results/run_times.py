"""Where the time of a run went: seconds in each state, and the parts of its training calls.

Waiting for data is measured in every step. The rest is divided into computing, communication
and idle time in the proportions of the steps that were profiled once, near the beginning of
the run: these three parts are extrapolated, and always labelled so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from gpu_studio.common.figures import grouped
from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import (
    JSON_ERRORS,
    AnyEvent,
    Checkpoint,
    Communication,
    Devices,
    Failed,
    Finished,
    LineTail,
    RunDirectory,
    Started,
    State,
    StateChanged,
)
from gpu_studio.contract.events import Event, decode
from gpu_studio.plan import strategy_named

TRAINING: Final = ("running", "stopping")
"""The states in which steps are trained: a run that is stopping ends its call first."""
_STEPS: Final = b'{"event":"steps"'
_COUNTED: Final = tuple(
    f'{{"event":"{kind}"'.encode()
    for kind in ("started", "state", "checkpoint", "finished", "failed")
)


class _Call(Event, tag="steps", frozen=True):
    """An event `steps` without its losses, which are most of it and say nothing of time."""

    first_step: int
    samples: int
    seconds: float
    input_seconds: float = 0.0


_calls = msgspec.json.Decoder(_Call)


@dataclass(frozen=True, slots=True)
class StateSpan:
    """A state that the run was in, from `begin` to `end`, in seconds since 1970 (UTC)."""

    state: State
    begin: float
    end: float


@dataclass(slots=True)
class RunTimes:
    """Seconds of one run, without what it inherited.

    `call_seconds` is the wall time of all training calls, `input_seconds` the part of it spent
    waiting for data. The `later_…` leave out the first call, in which the function is traced and
    compiled: `later_from` is the number of the step that the second call began with, None if there
    was none.
    """

    spans: list[StateSpan] = field(default_factory=list)
    call_seconds: float = 0.0
    input_seconds: float = 0.0
    samples: int = 0
    checkpoint_seconds: float = 0.0
    later_seconds: float = 0.0
    later_input_seconds: float = 0.0
    later_samples: int = 0
    later_from: int | None = None

    def add(self, first_step: int, samples: int, seconds: float, input_seconds: float) -> None:
        """Take in the next training call."""
        if self.call_seconds > 0:
            self.later_from = first_step if self.later_from is None else self.later_from
            self.later_seconds += seconds
            self.later_input_seconds += input_seconds
            self.later_samples += samples
        self.call_seconds += seconds
        self.input_seconds += input_seconds
        self.samples += samples

    def seconds_in(self, state: State) -> float:
        """The total seconds in a state, which the run may have entered several times."""
        return sum(span.end - span.begin for span in self.spans if span.state == state)

    @property
    def states(self) -> dict[State, float]:
        """The seconds in each state that the run was in, in order of first entry."""
        return {
            state: self.seconds_in(state)
            for state in dict.fromkeys(span.state for span in self.spans)
        }

    @property
    def at_work(self) -> list[tuple[float, float]]:
        """Begin and end of the spans in which the run trained."""
        return [(span.begin, span.end) for span in self.spans if span.state in TRAINING]

    @property
    def working_seconds(self) -> float:
        """Their seconds together."""
        return sum(end - begin for begin, end in self.at_work)

    @property
    def first_call_seconds(self) -> float:
        """The first call without its wait for data: nearly all tracing.

        0 until there is a second.
        """
        if self.later_from is None:
            return 0.0
        first, waited = (
            self.call_seconds - self.later_seconds,
            self.input_seconds - self.later_input_seconds,
        )
        return max(0.0, first - waited)

    @property
    def compute_seconds(self) -> float:
        """The other calls without their wait for data: computing and communication."""
        return max(0.0, self.call_seconds - self.input_seconds - self.first_call_seconds)

    @property
    def other_seconds(self) -> float:
        """Training time outside calls: validation, checkpoints, ends of epochs."""
        return max(0.0, self.working_seconds - self.call_seconds)

    @property
    def input_share(self) -> float | None:
        """The part (0 to 1) of the calls after the first that was spent waiting for data.

        None before the first.
        """
        if self.later_seconds > 0:
            return self.later_input_seconds / self.later_seconds
        return self.input_seconds / self.call_seconds if self.call_seconds > 0 else None

    @property
    def samples_per_second(self) -> float | None:
        """Mean throughput within the training calls, the first left out if there are more.

        None before the first.
        """
        if self.later_seconds > 0:
            return self.later_samples / self.later_seconds
        return self.samples / self.call_seconds if self.call_seconds > 0 else None

    def step_seconds(self, steps: int) -> float | None:
        """Mean seconds of a step in a run that reached `steps`, the first call left out.

        None with one call or none.
        """
        if self.later_from is None or steps <= self.later_from:
            return None
        return self.later_seconds / (steps - self.later_from)


def read_times(run: RunDirectory) -> RunTimes:
    """Add up the events of `run` so far. Raises OSError if they cannot be read."""
    reader = _Reader()
    for line in LineTail(run.events_file).read_all():
        if line.startswith(_STEPS):
            reader.take_call(line)
        elif line.startswith(_COUNTED) and (event := decode(line)) is not None:
            reader.take(event)
        else:
            reader.newest = line
    return reader.conclude()


class _Reader:
    """Folds the events that say something of time."""

    def __init__(self) -> None:
        self.times = RunTimes()
        self.newest = b""
        self._state: State | None = None
        self._since = 0.0
        self._clock = SteadyClock()
        self._now = 0.0

    def take(self, event: AnyEvent) -> None:
        """Take in a rare event."""
        self._now = self._clock.at(event.time, event.elapsed)
        match event:
            case StateChanged():
                self._enter(event.state)
            case Finished() | Failed():
                self._enter(None)
            case Checkpoint():
                self.times.checkpoint_seconds += event.seconds
            case Started():
                self._enter("starting")

    def take_call(self, line: bytes) -> None:
        """Take in a training call."""
        try:
            call = _calls.decode(line)
        except JSON_ERRORS:
            return
        self._now, self.newest = self._clock.at(call.time, call.elapsed), b""
        self.times.add(call.first_step, call.samples, call.seconds, call.input_seconds)

    def conclude(self) -> RunTimes:
        """Return the times; the last state extends to the newest event."""
        if (newest := decode(self.newest)) is not None:
            self._now = self._clock.at(newest.time, newest.elapsed)
        self._enter(None)
        return self.times

    def _enter(self, state: State | None) -> None:
        if self._state is not None:
            self.times.spans.append(StateSpan(self._state, self._since, self._now))
        self._state, self._since = state, self._now


KNOWN_VERSION: Final = 1
"""The newest rules of telling communication from computing that can be read here."""
ONE_DEVICE: Final = "none: one device"
NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds or shares: any device computes; none computes and any communicates; all are idle."""

    compute: float
    communication: float
    idle: float

    def of(self, whole: float) -> Parts:
        """The same proportions of another total."""
        return Parts(self.compute * whole, self.communication * whole, self.idle * whole)


def step_parts(reported: Communication | None) -> Parts | None:
    """The shares (sum 1) of a step's time without its wait for data; None if that was not measured.

    While one replica waits for data others may compute: the wait is taken from the idle time.
    """
    if reported is None or reported.version > KNOWN_VERSION:
        return None
    idle = max(0.0, reported.seconds - reported.compute - reported.exposed - reported.input_seconds)
    whole = reported.compute + reported.exposed + idle
    return Parts(reported.compute, reported.exposed, idle).of(1 / whole) if whole > 0 else None


def why_no_communication(devices: Devices | None) -> str:
    """The text in place of an unknown communication time."""
    if devices is None or len(devices.replicas) != 1 or strategy_named(devices.strategy).clusters:
        return NOT_MEASURED
    return ONE_DEVICE if devices.parameter_device in (None, *devices.replicas) else NOT_MEASURED


def steps_in_words(reported: Communication) -> str:
    """Which steps were profiled, counted from 1: `step 3`, `steps 3 to 7`."""
    first, last = reported.step + 1, reported.step + reported.steps
    return (
        f"step {grouped(first)}" if first == last else f"steps {grouped(first)} to {grouped(last)}"
    )
