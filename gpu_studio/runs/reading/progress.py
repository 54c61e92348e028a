"""How far a run was trained, how fast it trains, and when it will be done.

`35 of 400 epochs and 14 steps` are whole epochs, and the steps after the last of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from statistics import median_low
from typing import Final, NamedTuple

from gpu_studio.common.figures import grouped, plural
from gpu_studio.contract import State, Steps

RECENT_SECONDS: Final = 2.0
_STEADY_SECONDS: Final = 30.0
_GAPS: Final = 5
_NANO: Final = 1_000_000_000
_LONGEST: Final = 1e9
_MOST_UNSUMMED: Final = 4096


class TimedCall(NamedTuple):
    """What a call of the compiled function trained, when it ended, and its duration in nanoseconds.

    These are integers, because float sums that grow and shrink for days do not return to zero.
    """

    time: float
    took: int
    waited: int
    samples: int
    steps: int
    epoch: int


_TIME = attrgetter("time")


def call_of(event: Steps, time: float) -> TimedCall:
    """The call that an event reports, which ended at `time`."""
    took, waited = _nanoseconds(event.seconds), _nanoseconds(event.input_seconds)
    return TimedCall(time, took, waited, event.samples, len(event.losses), event.epoch)


def _nanoseconds(seconds: float) -> int:
    return round((seconds if 0.0 <= seconds <= _LONGEST else _within(seconds)) * _NANO)


def _within(seconds: float) -> float:
    return min(max(seconds, 0.0), _LONGEST)


class RecentCalls:
    """The calls of the last `seconds` of training, at least the newest, and their sums."""

    def __init__(self, seconds: float) -> None:
        self._span = seconds
        self._kept: deque[TimedCall] = deque()
        self.clear()

    def add(self, call: TimedCall) -> None:
        """Add the newest call, and drop those that are too old."""
        kept, oldest = self._kept, call.time - self._span
        kept.append(call)
        self._took += call.took
        self._waited += call.waited
        self.samples += call.samples
        self.steps += call.steps
        while kept[0].time <= oldest and len(kept) > 1:
            self._drop(kept.popleft())

    def add_all(self, calls: Sequence[TimedCall]) -> None:
        """Add calls in their order; those too old for the last of them are not even looked at."""
        if calls:
            oldest = calls[-1].time - self._span
            first = bisect_right(calls, oldest, hi=len(calls) - 1, key=_TIME)
            for call in calls[first:]:
                self.add(call)

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

    def _drop(self, call: TimedCall) -> None:
        self._took -= call.took
        self._waited -= call.waited
        self.samples -= call.samples
        self.steps -= call.steps


class Pace:
    """Recent throughput, and the estimated time left. Pauses do not count.

    Of a long run that is read at once, most calls are out of date before anybody asks: calls are
    summed up only then.
    """

    def __init__(self) -> None:
        self._within_2s = RecentCalls(RECENT_SECONDS)
        self._within_30s = RecentCalls(_STEADY_SECONDS)
        self._gaps: deque[float] = deque(maxlen=_GAPS)
        self._last: TimedCall | None = None
        self._paused = False
        self._unsummed: list[TimedCall] = []

    def add(self, event: Steps, time: float) -> None:
        """Record a call that ended at `time`, which is never less than before."""
        call = call_of(event, time)
        last, self._last = self._last, call
        if last is None:
            # The first call includes tracing the function: it says nothing about the others.
            self._within_2s.add(call)
            return
        self._unsummed.append(call)
        if len(self._unsummed) >= _MOST_UNSUMMED:
            self._sum_up()
        if call.epoch != last.epoch and not self._paused:
            self._gaps.append(max(0.0, call.time - call.took / _NANO - last.time))
        self._paused = False

    def state(self, state: State) -> None:
        """Record the run's new state."""
        if state == "paused":
            self._paused = True
            self._sum_up()
            self._within_2s.clear()

    def _sum_up(self) -> None:
        """Add the calls that no sum has yet, without those that the last one displaces anyway."""
        for recent in (self._within_2s, self._within_30s):
            recent.add_all(self._unsummed)
        self._unsummed.clear()

    @property
    def _recent(self) -> RecentCalls:
        self._sum_up()
        return self._within_2s

    @property
    def last(self) -> TimedCall | None:
        """The newest call; None before the first."""
        return self._last

    @property
    def steady(self) -> RecentCalls:
        """The calls of the last half minute of training, without the run's first."""
        self._sum_up()
        return self._within_30s

    @property
    def usual_gap(self) -> float | None:
        """The recent duration of an epoch's end, in seconds.

        None until an epoch follows the first.
        """
        return median_low(self._gaps) if self._gaps else None

    @property
    def samples_per_second(self) -> float | None:
        """Samples trained in each second of the calls of the last two seconds.

        None before the first call.
        """
        recent = self._recent
        return _ratio(recent.samples, recent.seconds)

    @property
    def input_share(self) -> float | None:
        """The part (0 to 1) of those seconds that was spent waiting for data.

        None before the first call.
        """
        recent = self._recent
        return _ratio(recent.input_seconds, recent.seconds)

    def seconds_for(self, steps: int, epoch_ends: int) -> float | None:
        """The seconds that this many more steps will take, with this many ends of epochs.

        Steps take as long as in the last half minute; the end of an epoch (validation, checkpoint)
        the lower median of the last five, because the first one includes compilation. None if
        unknown.
        """
        steady = self.steady
        step = _ratio(steady.seconds, steady.steps)
        if step is None:
            return None
        return steps * step + epoch_ends * (self.usual_gap or 0.0)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def trained(step: int, steps_per_epoch: int | None, epochs: int | None = None) -> str:
    """Write how much was trained: `35 of 400 epochs and 14 steps`, `14 of 920 steps`.

    `step` counts global batches from the beginning of the training. None is unknown. Empty before
    the first step.
    """
    if step <= 0:
        return ""
    whole, rest = divmod(step, steps_per_epoch) if steps_per_epoch else (0, step)
    if not whole:
        return _of(rest, steps_per_epoch * epochs if steps_per_epoch and epochs else None, "step")
    return (
        f"{_of(whole, epochs, 'epoch')} and {plural(rest, 'step')}"
        if rest
        else _of(whole, epochs, "epoch")
    )


def reached(step: int, steps_per_epoch: int | None, epochs: int | None = None) -> str:
    """Write how far training came: `after 35 of 400 epochs and 14 steps`.

    Or `before the first step`.
    """
    amount = trained(step, steps_per_epoch, epochs)
    return f"after {amount}" if amount else "before the first step"


def saved_at(epoch: int, step: int) -> str:
    """Write when a checkpoint was made: `after epoch 35, at step 819`.

    `epoch` counts finished epochs.
    """
    if step <= 0:
        return "before the first step"
    return (
        f"after epoch {grouped(epoch)}, at step {grouped(step)}"
        if epoch > 0
        else f"at step {grouped(step)}"
    )


def _of(count: int, total: int | None, word: str) -> str:
    return f"{grouped(count)} of {plural(total, word)}" if total else plural(count, word)
