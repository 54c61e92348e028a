"""Round numbers at which an axis is marked, and how they are written.

In the window's plots and a report's charts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from gpu_studio.common.figures import UNITS, alike, axis_time, grouped, unit_of

_SECONDS: Final = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    10800,
    21600,
    43200,
    86400,
)
_DAY: Final = 86400
_SLACK: Final = 1e-9
"""A number that is round but for the last bits counts as round."""


# What has more digits than this behind the point, or is as long as that before it, is written with
# a power of ten.
_MOST_DIGITS, _LONG = 5, 1e6
_MOST_BINARY = 2  # digits behind the point of a size: 0.25 GiB
_LOG_STEPS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))

Tick = tuple[float, str]
"""Where on the axis, and what is written there."""


def round_step(span: float, count: int) -> float:
    """The smallest round step that cuts `span` (above 0) into at most `count` parts.

    Round is 1, 2, 2.5 or 5 times a power of ten.
    """
    raw = span / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return power * next(
        factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= raw * (1 - _SLACK)
    )


def time_step(span: float, count: int) -> float:
    """The same in seconds, where that is at least one.

    Those of a clock, such as 15, 300 or 7200, or whole days.
    """
    raw = span / max(count, 1)
    if raw < 1:
        return round_step(span, count)
    return next((step for step in _SECONDS if step >= raw), math.ceil(raw / _DAY) * _DAY)


def binary_step(span: float, count: int) -> float:
    """The smallest power of two that cuts `span` bytes into at most `count` parts; at least 1."""
    return 2.0 ** math.ceil(math.log2(max(span / max(count, 1), 1.0)) - _SLACK)


def digits_of(step: float) -> int:
    """How many digits after the point tell the multiples of `step` apart."""
    digits = max(0, -math.floor(math.log10(step) + _SLACK))
    return digits if round(step * 10.0**digits, 6) % 1 == 0 else digits + 1


def multiples(low: float, high: float, step: float) -> Iterator[float]:
    """The multiples of `step` from `low` to `high`, the smallest first."""
    return (
        place * step
        for place in range(math.ceil(low / step - _SLACK), math.floor(high / step + _SLACK) + 1)
    )


def outward(low: float, high: float, step: float) -> tuple[int, int]:
    """How many steps the multiples of `step` are from 0 between which `low` and `high` lie."""
    return math.floor(low / step + _SLACK), math.ceil(high / step - _SLACK)


def with_height(low: float, high: float) -> tuple[float, float]:
    """A range from `low` to `high`.

    One without any height gets some, with the value in its middle.
    """
    if high > low:
        return low, high
    return low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)


def round_range(low: float, high: float, count: int) -> tuple[float, float]:
    """The range from `low` to `high` widened to whole steps, at most `count` or 2.

    An empty one gets some height.
    """
    low, high = with_height(low, high)
    span, count = high - low, max(count, 2)  # one step can never hold a range that has zero inside
    while True:
        step = round_step(span, count)
        first, last = outward(low, high, step)
        if last - first <= count:
            return first * step, last * step
        span = step * (count + 0.5)


def linear_ticks(low: float, high: float, count: int) -> list[Tick]:
    """About `count` round values from `low` to `high`, with the digits that tell them apart."""
    step = round_step(high - low, count)
    digits = digits_of(step)
    highest = max(abs(low), abs(high))
    if digits > _MOST_DIGITS or highest >= _LONG:
        apart = math.ceil(math.log10(highest / step)) + 1
        return [(value, _power(value, apart)) for value in multiples(low, high, step)]
    return [(value, _plain(value, digits)) for value in multiples(low, high, step)]


def log_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round values between 10**`low` and 10**`high`: at their logarithms, written as themselves.

    A range too narrow for the steps of a logarithmic axis gets those of a linear one.
    """
    for factors in _LOG_STEPS:
        found = [
            value
            for value in _log_candidates(low, high, factors)
            if low <= math.log10(value) <= high
        ]
        if 2 <= len(found) <= count + 1:
            return _logarithms(found)
    if high - low < 1:
        return [
            (math.log10(value), text)
            for value, text in linear_ticks(10**low, 10**high, count)
            if value > 0
        ]
    stride = max(1, math.ceil((high - low) / max(count, 1)))
    return _logarithms(
        [10.0**power for power in range(math.ceil(low), math.floor(high) + 1, stride)]
    )


def binary_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round numbers of bytes, all in one unit.

    That of the highest, or one that tells them apart in two digits.
    """
    step = binary_step(high - low, count)
    names = list(UNITS)[list(UNITS).index(unit_of(high)) :: -1]
    name, digits = next(
        found for each in names if (found := (each, _digits_in(each, step)))[1] <= _MOST_BINARY
    )
    return [
        (value, f"{_plain(value / UNITS[name], digits)} {name}")
        for value in multiples(low, high, step)
    ]


def _digits_in(unit: str, step: float) -> int:
    """How many digits the multiples of `step` bytes have behind the point in this unit."""
    fits = (
        digits
        for digits in range(_MOST_BINARY + 1)
        if round(step / UNITS[unit], digits) * UNITS[unit] == step
    )
    return next(fits, 0 if unit == "B" else _MOST_BINARY + 1)


def time_ticks(start: float, end: float, count: int) -> list[Tick]:
    """Round seconds, written as durations.

    `30 s`, `1 min 30 s`, `2 h`, and `2:00:05` where those are too coarse.
    """
    step = time_step(end - start, count)
    digits = digits_of(step)
    moments = multiples(start, end, step)
    return [
        (each, f"{each:.{digits}f} s" if digits else axis_time(each, round(step)))
        for each in moments
    ]


def count_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round whole numbers from `low` to `high`, about `count` of them: `1 500`."""
    step = max(round_step(high - low, count), 1.0)
    step = 5.0 if step == 2.5 else step
    return [(value, _plain(value, 0)) for value in multiples(low, high, step)]


def part_ticks(low: float, high: float, count: int) -> list[Tick]:
    """The same with halves, tenths and so on where there is room for them: `20`, `20.5`."""
    return count_ticks(low, high, count) if high - low >= count else linear_ticks(low, high, count)


def clock_ticks(start: float, end: float, count: int, origin: float) -> list[Tick]:
    """Round moments of the local day between `start` and `end` seconds after `origin` (since 1970).

    `14:02:30`.
    """
    step = time_step(end - start, count)
    shift = (
        origin
        + (datetime.fromtimestamp(origin).astimezone().utcoffset() or timedelta()).total_seconds()
    )
    pattern = "%H:%M:%S" if step < 60 else "%H:%M"
    moments = (value - shift for value in multiples(start + shift, end + shift, step))
    return [
        (at, datetime.fromtimestamp(origin + at).astimezone().strftime(pattern)) for at in moments
    ]


def _log_candidates(low: float, high: float, factors: tuple[float, ...]) -> Iterator[float]:
    powers = range(math.floor(low), math.ceil(high) + 1)
    return (factor * 10.0**power for power in powers for factor in factors)


def _logarithms(values: Sequence[float]) -> list[Tick]:
    """These values at their logarithms, all written in one way."""
    return list(zip(map(math.log10, values), alike(values), strict=True))


def _plain(value: float, digits: int) -> str:
    return grouped(value + 0.0, digits)


def _power(value: float, digits: int) -> str:
    """A number that would take the room of the plot, as `2.5e29`.

    So many digits behind the point at the most.
    """
    number, power = f"{value:.{digits}e}".split("e")
    return f"{number.rstrip('0').rstrip('.')}e{int(power)}" if value else "0"
