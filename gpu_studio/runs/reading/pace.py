"""How fast a run goes, and when it will be done."""

from __future__ import annotations

from collections import deque
from statistics import median_low
from typing import Final, NamedTuple

from gpu_studio.runs.events import State, Steps

RECENT_SECONDS: Final = 2.0
_STEADY_SECONDS: Final = 30.0
_GAPS: Final = 5
_NANO: Final = 1_000_000_000
_LONGEST: Final = 1e9


class Call(NamedTuple):
    """What a call of the compiled function trained, when it ended, and the nanoseconds that it took.

    Those are whole numbers, because sums of fractions that grow and shrink for days do not come back to nothing.
    """

    time: float
    took: int
    waited: int
    samples: int
    steps: int
    epoch: int


def call_of(event: Steps) -> Call:
    """The call that an event tells of."""
    took, waited = _nanoseconds(event.seconds), _nanoseconds(event.input_seconds)
    return Call(event.time, took, waited, event.samples, len(event.losses), event.epoch)


def _nanoseconds(seconds: float) -> int:
    return round(min(max(seconds, 0.0), _LONGEST) * _NANO)


class Calls:
    """The calls that ended within the last `seconds` of training, at least the newest, and their sums."""

    def __init__(self, seconds: float) -> None:
        self._span = seconds
        self._kept: deque[Call] = deque()
        self.clear()

    def add(self, call: Call) -> None:
        """Take in the newest call, and drop those that are too old beside it."""
        kept, oldest = self._kept, call.time - self._span
        kept.append(call)
        self._took += call.took
        self._waited += call.waited
        self.samples += call.samples
        self.steps += call.steps
        while kept[0].time <= oldest and len(kept) > 1:
            self._drop(kept.popleft())

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
        self._took = self._waited = self.samples = self.steps = 0

    def __len__(self) -> int:
        """How many calls there are."""
        return len(self._kept)

    @property
    def seconds(self) -> float:
        """The wall time of the calls together."""
        return self._took / _NANO

    @property
    def input_seconds(self) -> float:
        """The part of it that was spent waiting for data."""
        return self._waited / _NANO

    def _drop(self, call: Call) -> None:
        self._took -= call.took
        self._waited -= call.waited
        self.samples -= call.samples
        self.steps -= call.steps


class Pace:
    """Throughput of late, and the time that what is left will take. Pauses count as no time."""

    def __init__(self) -> None:
        self._recent = Calls(RECENT_SECONDS)
        self._steady = Calls(_STEADY_SECONDS)
        self._gaps: deque[float] = deque(maxlen=_GAPS)
        self._last: Call | None = None
        self._paused = False

    def add(self, event: Steps) -> None:
        """Take note of a call that has ended."""
        call = call_of(event)
        self._recent.add(call)
        last, self._last = self._last, call
        if last is None:
            return  # The first call holds the tracing of the function: it says nothing about the others.
        self._steady.add(call)
        if call.epoch != last.epoch and not self._paused:
            self._gaps.append(max(0.0, call.time - call.took / _NANO - last.time))
        self._paused = False

    def state(self, state: State) -> None:
        """Take note of the state that the run is in from now on."""
        if state == "paused":
            self._paused = True
            self._recent.clear()

    @property
    def last(self) -> Call | None:
        """The newest call; None before the first."""
        return self._last

    @property
    def steady(self) -> Calls:
        """The calls of the last half minute of training, the run's first left out."""
        return self._steady

    @property
    def usual_gap(self) -> float | None:
        """Seconds that the end of an epoch takes of late; None before the first epoch is followed by another."""
        return median_low(self._gaps) if self._gaps else None

    @property
    def samples_per_second(self) -> float | None:
        """Samples trained in each second of the calls of the last two seconds; None before the first call."""
        return _ratio(self._recent.samples, self._recent.seconds)

    @property
    def input_share(self) -> float | None:
        """The part (0 to 1) of those seconds that was spent waiting for data; None before the first call."""
        return _ratio(self._recent.input_seconds, self._recent.seconds)

    def seconds_for(self, steps: int, epoch_ends: int) -> float | None:
        """Seconds that so many more steps, with so many ends of an epoch between or after them, will take.

        Steps go as in the last half minute; the end of an epoch (validation, checkpoint) takes the lower median of
        the last five, because the first one also holds what is compiled then. None: not known yet.
        """
        step = _ratio(self._steady.seconds, self._steady.steps)
        if step is None:
            return None
        return steps * step + epoch_ends * (self.usual_gap or 0.0)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
