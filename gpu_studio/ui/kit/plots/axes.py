"""The axes of a plot.

They write round numbers, map values to heights, and define what the time axis counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpu_studio.runs.reading.series import Array
from gpu_studio.runs.ticks import (
    Tick,
    binary_step,
    binary_ticks,
    count_ticks,
    linear_ticks,
    log_ticks,
    part_ticks,
    round_range,
    time_ticks,
)

_NEAR_ZERO = 0.35


@dataclass(frozen=True, slots=True)
class Scale:
    """A kind of vertical axis.

    `heights` maps values to heights (not a number where a value has none), `fit` widens what is to
    be seen, in heights, to a round range with space for some rows, `ticks` names heights in a
    range, about one for each row.
    """

    heights: Callable[[Array], Array]
    fit: Callable[[float, float, int], tuple[float, float]]
    ticks: Callable[[float, float, int], list[Tick]]


def _same(values: Array) -> Array:
    return values


def _log_heights(values: Array) -> Array:
    positive = np.where(values > 0, values, np.nan)
    return np.log10(positive)


def _fit_linear(low: float, high: float, rows: int) -> tuple[float, float]:
    """A range that begins at zero where zero is near."""
    if 0 < low < _NEAR_ZERO * high:
        low = 0.0
    return round_range(low, high, rows)


def _fit_log(low: float, high: float, rows: int) -> tuple[float, float]:
    del rows
    margin = max((high - low) * 0.06, 0.02)
    return low - margin, high + margin


_MEBIBYTE = 2.0**20


def _fit_bytes(low: float, high: float, rows: int) -> tuple[float, float]:
    """From zero to a round number of bytes; to a mebibyte where nothing is held."""
    del low
    high = high or _MEBIBYTE
    step = binary_step(max(high, 1.0), rows)
    return 0.0, max(math.ceil(high / step), 1) * step


LINEAR = Scale(_same, _fit_linear, linear_ticks)
LOG = Scale(_log_heights, _fit_log, log_ticks)
BYTES = Scale(_same, _fit_bytes, binary_ticks)


def _fit_percent(low: float, high: float, rows: int) -> tuple[float, float]:
    del low, high, rows
    return 0.0, 100.0


def _in(unit: str) -> Callable[[float, float, int], list[Tick]]:
    return lambda low, high, rows: [
        (at, f"{text} {unit}") for at, text in linear_ticks(low, high, rows)
    ]


PERCENT = Scale(_same, _fit_percent, _in("%"))
WATTS = Scale(_same, lambda low, high, rows: _fit_linear(min(low, 0.0), high, rows), _in("W"))
CELSIUS = Scale(_same, _fit_linear, _in("°C"))
BYTES_A_SECOND = Scale(
    _same,
    _fit_bytes,
    lambda low, high, rows: [(at, f"{text}/s") for at, text in binary_ticks(low, high, rows)],
)


AxisKind = Literal["time", "step", "epoch"]
SHORTEST = 1.0
"""Seconds that the axis shows from the nearest."""
_FEWEST_STEPS = 4.0
_BESIDE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Ruler:
    """Places on the axis for the seconds after a run's start, and the other way round.

    Here they are the same.
    """

    kind: AxisKind = "time"

    @property
    def least(self) -> float:
        """How much of the axis can be looked at from the nearest."""
        return SHORTEST

    def places(self, seconds: Array) -> Array:
        """The place of each moment, in the shape of `seconds`."""
        return seconds

    def seconds(self, places: Array) -> Array:
        """The moment at each place, in the shape of `places`."""
        return places

    def place(self, second: float) -> float:
        """The place of one moment."""
        return float(self.places(np.array([second]))[0])

    def second(self, place: float) -> float:
        """The moment at one place."""
        return float(self.seconds(np.array([place]))[0])

    def around(self, times: Array, start: float, end: float) -> slice:
        """Those of the sorted moments `times` among which all between two places are.

        A long run has thousands, few of them in view, and each place has to be looked up. A little
        more than the view is looked at: many moments can have one place, as those of a pause.
        """
        if not len(times):
            return slice(0, 0)
        before, after = self.places(times[[0, -1]]).tolist()
        beside = _BESIDE * (end - start)
        moments = self.seconds(np.array([start - beside, end + beside]))
        first, last = times.searchsorted(moments).tolist()
        return slice(first if before < start else 0, last if after > end else len(times))

    def ticks(self, start: float, end: float, count: int) -> list[Tick]:
        """Round places from `start` to `end`, about `count` of them, with their names."""
        return time_ticks(start, end, count)


TIME = Ruler()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainingTime(Ruler):
    """Counts seconds of training: from the run's second `first` on, without the pauses.

    `begins` and `ends` are the seconds after the run's start at which it was paused and went on,
    both shape (pauses,), sorted; a pause that lasts has no end (infinity). What was before the
    first lies at negative places.
    """

    first: float
    begins: Array
    ends: Array

    def places(self, seconds: Array) -> Array:
        """How long had been trained at each moment."""
        paused = np.clip(seconds[..., np.newaxis], self.begins, self.ends) - self.begins
        places: Array = seconds - self.first - paused.sum(axis=-1)
        return places

    def seconds(self, places: Array) -> Array:
        """When so long had been trained; where it was paused then, when the pause began."""
        lengths = np.where(np.isfinite(self.ends), self.ends - self.begins, 0.0)
        earlier = np.cumsum(lengths) - lengths
        passed = places[..., np.newaxis] > self.begins - self.first - earlier
        seconds: Array = places + self.first + (passed * lengths).sum(axis=-1)
        return seconds


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StepRuler(Ruler):
    """Counts training steps, or epochs of `per` steps each.

    `steps` had been trained at `times` (seconds since 1970), both shape (points,) with at least
    one, and sorted. In between they are taken to pass evenly; before the first and after the last
    nothing passes. So what takes time but trains nothing, as a pause does, takes no space. Places
    count from the step `first`.

    Where more is known of a while, `near` has its times and steps, which then count. What earlier
    runs had trained lies at places below 0: `earlier` has the seconds before this run's start, as
    negative numbers, and the steps.
    """

    times: Array
    steps: Array
    origin: float
    first: float
    per: float = 1.0
    near: tuple[Array, Array] | None = None
    earlier: tuple[Array, Array] | None = None

    @property
    def least(self) -> float:
        """A few steps."""
        return _FEWEST_STEPS / self.per

    def places(self, seconds: Array) -> Array:
        """The steps, or epochs, trained at each moment, less those before the first."""
        steps = _closely(seconds + self.origin, self.times, self.steps, self.near)
        if self.earlier is not None:
            before = seconds <= 0
            steps[before] = between(seconds[before], *self.earlier)
        return (steps - self.first) / self.per

    def seconds(self, places: Array) -> Array:
        """When so much had been trained."""
        near = None if self.near is None else (self.near[1], self.near[0])
        steps = places * self.per + self.first
        seconds = _closely(steps, self.steps, self.times, near) - self.origin
        if self.earlier is not None:
            before, (times, trained) = places < 0, self.earlier
            seconds[before] = between(steps[before], trained, times)
        return seconds

    def ticks(self, start: float, end: float, count: int) -> list[Tick]:
        """Round steps or epochs, named as they are counted over the whole training."""
        before = self.first / self.per
        made = count_ticks if self.kind == "step" else part_ticks
        return [
            (at - before, f"{self.kind} {text}")
            for at, text in made(start + before, end + before, count)
        ]


def between(x: Array, known: Array, values: Array) -> Array:
    """Interpolate linearly between `values` at `known` places, at the places `x`.

    `known` is sorted; it and `values` have the shape (points,).

    Outside them it is the first or the last value. The same as `numpy.interp`, which copies what
    cannot be written to: that would cost a millisecond for each curve of a long run.
    """
    after = known.searchsorted(x, side="right")
    right, left = np.minimum(after, len(known) - 1), np.maximum(after - 1, 0)
    low, high = known[left], known[right]
    width = high - low
    share = np.divide(x - low, width, out=np.zeros(x.shape), where=width > 0)
    return values[left] + np.maximum(share, 0.0) * (values[right] - values[left])


def _closely(x: Array, known: Array, values: Array, near: tuple[Array, Array] | None) -> Array:
    found = between(x, known, values)
    if near is not None and len(near[0]):
        inside = (x >= near[0][0]) & (x <= near[0][-1])
        found[inside] = between(x[inside], *near)
    return found


class StepClock:
    """When each step was trained, sorted.

    Repeated calls look only at what is new.
    """

    def __init__(self) -> None:
        self._sorted = 0
        self._ends = (0.0, 0.0)

    def ruler(
        self,
        kind: AxisKind,
        times: Array,
        steps: Array,
        origin: float,
        first: float,
        per: float = 1.0,
    ) -> Ruler:
        """The ruler of this kind for steps trained at these times.

        As `StepRuler` takes them, but in any order.
        """
        if kind == "time":
            return TIME
        if not len(times):
            times, steps = np.array([origin]), np.array([first])
        elif not self._in_order(times, steps):
            # The clock was set back: the steps in between count as trained at the latest reported
            # time.
            times, steps = np.maximum.accumulate(times), np.maximum.accumulate(steps)
        return StepRuler(kind=kind, times=times, steps=steps, origin=origin, first=first, per=per)

    def _in_order(self, times: Array, steps: Array) -> bool:
        known = self._sorted
        same = 0 < known <= len(times) and (float(times[0]), float(times[known - 1])) == self._ends
        begin = known - 1 if same else 0
        if bool(np.all(np.diff(times[begin:]) >= 0)) and bool(np.all(np.diff(steps[begin:]) >= 0)):
            self._sorted, self._ends = len(times), (float(times[0]), float(times[-1]))
            return True
        self._sorted = 0
        return False


_FEWEST = {"step": 4.0, "epoch": 0.02}


@dataclass(frozen=True, slots=True, eq=False)
class CountRuler(Ruler):
    """Places that are counts already, for runs whose steps took different times."""

    @property
    def least(self) -> float:
        """A few steps, or a small part of an epoch."""
        return _FEWEST.get(self.kind, 1.0)

    def ticks(self, start: float, end: float, count: int) -> list[Tick]:
        """About `count` round counts from `start` to `end`, each named with its unit."""
        made = part_ticks if self.kind == "epoch" else count_ticks
        return [(at, f"{self.kind} {text}") for at, text in made(start, end, count)]
