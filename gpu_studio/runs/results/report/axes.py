"""Axes of a chart: a range that is round, and the values at which it is written what they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from gpu_studio.runs.round_numbers import (
    binary_step,
    digits_of,
    multiples,
    outward,
    round_step,
    time_step,
    with_height,
)
from gpu_studio.runs.wording import alike, size

COUNT: Final = 5
"""About so many values are written at an axis."""
_MOST_LOG: Final = 9


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, with what is written at some values. On a `log` axis all are above 0."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies between the ends: 0 at `low`, 1 at `high`."""
        low, high, value = (math.log10(each) for each in (self.low, self.high, value)) if self.log else (
            self.low, self.high, value
        )  # fmt: skip
        return (value - low) / (high - low)


def number_axis(low: float, high: float, unit: str = "") -> Axis:
    """Plain numbers, widened to round ends."""
    low, high = with_height(low, high)
    step = round_step(high - low, COUNT)
    first, last = outward(low, high, step)
    digits = digits_of(step)
    ticks = ((place * step, f"{place * step:,.{digits}f}{unit}") for place in range(first, last + 1))
    return Axis(first * step, last * step, tuple(ticks))


def log_axis(low: float, high: float) -> Axis:
    """Numbers above 0 by their logarithm, between the nearest of 1, 2 and 5 times a power of ten."""
    marks = list(_marks(low, high))
    first = max(mark for mark in marks if mark <= low * (1 + 1e-9))
    last = min(mark for mark in marks if mark >= high * (1 - 1e-9))
    inside = [mark for mark in marks if first <= mark <= last]
    if len(inside) > _MOST_LOG:
        inside = [mark for mark in inside if math.isclose(math.log10(mark), round(math.log10(mark)), abs_tol=1e-9)]
    stride = -(-len(inside) // _MOST_LOG) or 1
    return Axis(first, last, tuple(zip(inside[::stride], alike(inside[::stride]), strict=True)), log=True)


def bytes_axis(high: float) -> Axis:
    """Memory from nothing on, in powers of two."""
    step = binary_step(high, COUNT)
    count = math.ceil(max(high, step) / step)
    return Axis(0.0, count * step, tuple((place * step, size(place * step)) for place in range(count + 1)))


def seconds_axis(high: float) -> Axis:
    """Time from nothing on, which ends where the time does."""
    high = high if high > 0 else 1.0
    return _along(high, time_step(high, COUNT), _moment)


def steps_axis(low: float, high: float) -> Axis:
    """Training steps, which end where the training does."""
    high = high if high > low else low + 1
    return _along(high, max(1.0, round_step(high, COUNT)), lambda value: f"{value:,.0f}", low)


def _along(high: float, step: float, write: Callable[[float], str], low: float = 0.0) -> Axis:
    return Axis(low, high, tuple((value, write(value)) for value in multiples(low, high, step)))


def _marks(low: float, high: float) -> Iterator[float]:
    for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2):
        yield from (factor * 10.0**power for factor in (1.0, 2.0, 5.0))


def _moment(seconds: float) -> str:
    """A round time in the unit that suits it: `0.5 s`, `40 s`, `1.5 min`, `2 h`, `3 d`."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length and seconds % (length / 4) == 0:
            return f"{seconds / length:g} {unit}"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f}:{rest:02.0f}" if minutes else f"{seconds:g} s"
