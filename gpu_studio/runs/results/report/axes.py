"""Axes of a chart: a range that is round, and the values at which it is written what they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from gpu_studio.runs.wording import size

COUNT: Final = 5
"""About so many values are written at an axis."""
_MOST_LOG: Final = 9
_SECONDS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


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
    if high <= low:
        low, high = low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
    step = _round(high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = _digits(step)
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
    return Axis(first, last, tuple((mark, f"{mark:g}") for mark in inside[::stride]), log=True)


def bytes_axis(high: float) -> Axis:
    """Memory from nothing on, in powers of two."""
    step = 2.0 ** math.ceil(math.log2(max(high, COUNT) / COUNT))
    count = math.ceil(max(high, step) / step)
    return Axis(0.0, count * step, tuple((place * step, size(place * step)) for place in range(count + 1)))


def seconds_axis(high: float) -> Axis:
    """Time from nothing on, which ends where the time does."""
    high = high if high > 0 else 1.0
    return _along(high, _time_step(high), _moment)


def steps_axis(low: float, high: float) -> Axis:
    """Training steps, which end where the training does."""
    high = high if high > low else low + 1
    return _along(high, max(1.0, _round(high)), lambda value: f"{value:,.0f}", low)


def _along(high: float, step: float, write: Callable[[float], str], low: float = 0.0) -> Axis:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Axis(low, high, tuple((place * step, write(place * step)) for place in range(first, last + 1)))


def _round(span: float) -> float:
    """The least of 1, 2, 2.5 or 5 times a power of ten that cuts `span` into few parts."""
    raw = span / COUNT
    power = 10.0 ** math.floor(math.log10(raw))
    return power * next(factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= raw * (1 - 1e-9))


def _digits(step: float) -> int:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return digits if round(step * 10.0**digits, 6) % 1 == 0 else digits + 1


def _marks(low: float, high: float) -> Iterator[float]:
    for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2):
        yield from (factor * 10.0**power for factor in (1.0, 2.0, 5.0))


def _time_step(high: float) -> float:
    raw = high / COUNT
    if raw < 1:
        return _round(high)
    return next((step for step in _SECONDS if step >= raw), math.ceil(raw / 86400) * 86400)


def _moment(seconds: float) -> str:
    """A round time in the unit that suits it: `0.5 s`, `40 s`, `1.5 min`, `2 h`, `3 d`."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length and seconds % (length / 4) == 0:
            return f"{seconds / length:g} {unit}"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f}:{rest:02.0f}" if minutes else f"{seconds:g} s"
