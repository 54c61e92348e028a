"""How far a run was trained, how fast it trains, and when it will be done.

`35 of 400 epochs and 14 steps` are whole epochs, and the steps after the last of them.
"""

from __future__ import annotations

from collections import deque
from statistics import median_low
from typing import Final, NamedTuple

from gpu_studio.common.figures import grouped, plural
from gpu_studio.contract import State, Steps

RECENT_SECONDS: Final = 2.0
_STEADY_SECONDS: Final = 30.0
_GAPS: Final = 5
_NANO: Final = 1_000_000_000
_LONGEST: Final = 1e9


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


def call_of(event: Steps) -> TimedCall:
    """The call that an event reports."""
    took, waited = _nanoseconds(event.seconds), _nanoseconds(event.input_seconds)
    return TimedCall(event.time, took, waited, event.samples, len(event.losses), event.epoch)


def _nanoseconds(seconds: float) -> int:
    return round(min(max(seconds, 0.0), _LONGEST) * _NANO)


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
    """Recent throughput, and the estimated time left. Pauses do not count."""

    def __init__(self) -> None:
        self._recent = RecentCalls(RECENT_SECONDS)
        self._steady = RecentCalls(_STEADY_SECONDS)
        self._gaps: deque[float] = deque(maxlen=_GAPS)
        self._last: TimedCall | None = None
        self._paused = False

    def add(self, event: Steps) -> None:
        """Record a finished call."""
        call = call_of(event)
        self._recent.add(call)
        last, self._last = self._last, call
        if last is None:
            # The first call includes tracing the function: it says nothing about the others.
            return
        self._steady.add(call)
        if call.epoch != last.epoch and not self._paused:
            self._gaps.append(max(0.0, call.time - call.took / _NANO - last.time))
        self._paused = False

    def state(self, state: State) -> None:
        """Record the run's new state."""
        if state == "paused":
            self._paused = True
            self._recent.clear()

    @property
    def last(self) -> TimedCall | None:
        """The newest call; None before the first."""
        return self._last

    @property
    def steady(self) -> RecentCalls:
        """The calls of the last half minute of training, without the run's first."""
        return self._steady

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
        return _ratio(self._recent.samples, self._recent.seconds)

    @property
    def input_share(self) -> float | None:
        """The part (0 to 1) of those seconds that was spent waiting for data.

        None before the first call.
        """
        return _ratio(self._recent.input_seconds, self._recent.seconds)

    def seconds_for(self, steps: int, epoch_ends: int) -> float | None:
        """The seconds that this many more steps will take, with this many ends of epochs.

        Steps take as long as in the last half minute; the end of an epoch (validation, checkpoint)
        the lower median of the last five, because the first one includes compilation. None if
        unknown.
        """
        step = _ratio(self._steady.seconds, self._steady.steps)
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
