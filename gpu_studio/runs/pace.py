"""How fast a run goes, and when it will be done."""

from __future__ import annotations

from collections import deque
from statistics import median_low
from typing import Final

from gpu_studio.runs.events import State, Steps

RECENT_SECONDS: Final = 2.0
_STEADY_SECONDS: Final = 30.0
_GAPS: Final = 5


class Calls:
    """The calls that ended within the last `seconds` of training, at least the newest."""

    def __init__(self, seconds: float) -> None:
        self._span = seconds
        self._kept: deque[Steps] = deque()

    def add(self, event: Steps) -> None:
        """Take in the newest call, and drop those that are too old beside it."""
        self._kept.append(event)
        while len(self._kept) > 1 and self._kept[0].time <= event.time - self._span:
            self._kept.popleft()

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()

    @property
    def seconds(self) -> float:
        """The wall time of the calls together."""
        return sum(event.seconds for event in self._kept)

    @property
    def input_seconds(self) -> float:
        """The part of it that was spent waiting for data."""
        return sum(event.input_seconds for event in self._kept)

    @property
    def samples(self) -> int:
        """The samples trained in them."""
        return sum(event.samples for event in self._kept)

    @property
    def steps(self) -> int:
        """The steps trained in them."""
        return sum(len(event.losses) for event in self._kept)


class Pace:
    """Throughput of late, and the time that what is left will take. Pauses count as no time."""

    def __init__(self) -> None:
        self._recent = Calls(RECENT_SECONDS)
        self._steady = Calls(_STEADY_SECONDS)
        self._gaps: deque[float] = deque(maxlen=_GAPS)
        self._last: Steps | None = None
        self._paused = False

    def add(self, event: Steps) -> None:
        """Take note of a call that has ended."""
        self._recent.add(event)
        last, self._last = self._last, event
        if last is None:
            return  # The first call holds the tracing of the function: it says nothing about the others.
        self._steady.add(event)
        if event.epoch != last.epoch and not self._paused:
            self._gaps.append(max(0.0, event.time - event.seconds - last.time))
        self._paused = False

    def state(self, state: State) -> None:
        """Take note of the state that the run is in from now on."""
        if state == "paused":
            self._paused = True
            self._recent.clear()

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
        return steps * step + epoch_ends * (median_low(self._gaps) if self._gaps else 0.0)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
