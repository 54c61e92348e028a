"""Axes of a chart: a round range, and labelled values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gpu_studio.common.figures import alike, grouped, size
from gpu_studio.runs.ticks import (
    binary_step,
    count_ticks,
    digits_of,
    outward,
    round_step,
    time_ticks,
    with_height,
)

COUNT: Final = 5
"""About so many values are written at an axis."""
_MOST_LOG: Final = 9


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, with labels at some values. On a `log` axis all are above 0."""

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
    ticks = (
        (place * step, grouped(place * step, digits) + unit) for place in range(first, last + 1)
    )
    return Axis(first * step, last * step, tuple(ticks))


def log_axis(low: float, high: float) -> Axis:
    """Numbers above 0 by their logarithm, between the nearest of 1, 2 and 5 times a power of ten."""
    marks = list(_marks(low, high))
    first = max(mark for mark in marks if mark <= low * (1 + 1e-9))
    last = min(mark for mark in marks if mark >= high * (1 - 1e-9))
    inside = [mark for mark in marks if first <= mark <= last]
    if len(inside) > _MOST_LOG:
        inside = [
            mark
            for mark in inside
            if math.isclose(math.log10(mark), round(math.log10(mark)), abs_tol=1e-9)
        ]
    stride = -(-len(inside) // _MOST_LOG) or 1
    return Axis(
        first, last, tuple(zip(inside[::stride], alike(inside[::stride]), strict=True)), log=True
    )


def bytes_axis(high: float) -> Axis:
    """Memory from zero on, in powers of two."""
    step = binary_step(high, COUNT)
    count = math.ceil(max(high, step) / step)
    return Axis(
        0.0, count * step, tuple((place * step, size(place * step)) for place in range(count + 1))
    )


def seconds_axis(high: float) -> Axis:
    """Time from zero on, ending where the data end."""
    high = high if high > 0 else 1.0
    return Axis(0.0, high, tuple(time_ticks(0.0, high, COUNT)))


def steps_axis(low: float, high: float) -> Axis:
    """Training steps, ending where training does."""
    high = high if high > low else low + 1
    return Axis(low, high, tuple(count_ticks(low, high, COUNT)))


def _marks(low: float, high: float) -> Iterator[float]:
    for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2):
        yield from (factor * 10.0**power for factor in (1.0, 2.0, 5.0))
