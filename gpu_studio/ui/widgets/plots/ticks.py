"""Round numbers for an axis, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from gpu_studio.runs.round_numbers import (
    binary_step,
    digits_of,
    multiples,
    outward,
    round_step,
    time_step,
    with_height,
)
from gpu_studio.runs.wording import alike
from gpu_studio.thousands import grouped
from gpu_studio.ui.models.figures import UNITS, size_unit

# What has more digits than this behind the point, or is as long as that before it, is written with a power of ten.
_MOST_DIGITS, _LONG = 5, 1e6
_MINUTE, _HOUR = 60, 3600
_LOG_STEPS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))

Tick = tuple[float, str]


def round_range(low: float, high: float, count: int) -> tuple[float, float]:
    """The range from `low` to `high` widened to whole steps, at most `count` or 2; an empty one gets some height."""
    low, high = with_height(low, high)
    span, count = high - low, max(count, 2)  # one step can never hold a range that has zero inside
    while True:
        step = round_step(span, count)
        first, last = outward(low, high, step)
        if last - first <= count:
            return first * step, last * step
        span = step * (count + 0.5)


def linear_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round values from `low` to `high`, about `count` of them, with as many digits as tell them apart."""
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
        found = [value for value in _log_candidates(low, high, factors) if low <= math.log10(value) <= high]
        if 2 <= len(found) <= count + 1:
            return _logarithms(found)
    if high - low < 1:
        return [(math.log10(value), text) for value, text in linear_ticks(10**low, 10**high, count) if value > 0]
    stride = max(1, math.ceil((high - low) / max(count, 1)))
    return _logarithms([10.0**power for power in range(math.ceil(low), math.floor(high) + 1, stride)])


def binary_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round numbers of bytes, all in the one unit that suits the highest of them."""
    step = binary_step(high - low, count)
    name = size_unit(int(high))
    amount = UNITS[name]
    digits = next((digits for digits in range(3) if round(step / amount, digits) * amount == step), 2)
    return [(value, f"{_plain(value / amount, digits)} {name}") for value in multiples(low, high, step)]


def time_ticks(start: float, end: float, count: int) -> list[Tick]:
    """Round seconds, written as durations: `30 s`, `1 min 30 s`, `2 h`, and `2:00:05` where those are too coarse."""
    step = time_step(end - start, count)
    digits = digits_of(step)
    moments = multiples(start, end, step)
    return [(each, f"{each:.{digits}f} s" if digits else _moment(each, round(step))) for each in moments]


def count_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round whole numbers from `low` to `high`, about `count` of them: `1 500`."""
    step = max(round_step(high - low, count), 1.0)
    step = 5.0 if step == 2.5 else step
    return [(value, _plain(value, 0)) for value in multiples(low, high, step)]


def part_ticks(low: float, high: float, count: int) -> list[Tick]:
    """The same with halves, tenths and so on where there is room for them: `20`, `20.5`."""
    return count_ticks(low, high, count) if high - low >= count else linear_ticks(low, high, count)


def clock_ticks(start: float, end: float, count: int, origin: float) -> list[Tick]:
    """Round moments of the local day between `start` and `end` seconds after `origin` (since 1970): `14:02:30`."""
    step = time_step(end - start, count)
    shift = origin + (datetime.fromtimestamp(origin).astimezone().utcoffset() or timedelta()).total_seconds()
    pattern = "%H:%M:%S" if step < 60 else "%H:%M"
    moments = (value - shift for value in multiples(start + shift, end + shift, step))
    return [(at, datetime.fromtimestamp(origin + at).astimezone().strftime(pattern)) for at in moments]


def _moment(seconds: float, step: int) -> str:
    """Whole seconds as `45 s`, `1 min 12 s`, `3 h 5 min`, `2 d 4 h`: the two largest units that are not zero.

    Where the steps are finer than those, as a clock shows them: `1:40:05`, `2 d 4:10`.
    """
    if seconds < 0:
        return f"-{_moment(-seconds, step)}"
    days, hours, minutes, rest = _split(round(seconds))
    if step < _MINUTE and (days or hours):
        return f"{f'{days} d ' if days else ''}{hours}:{minutes:02}:{rest:02}"
    if step < _HOUR and days:
        return f"{days} d {hours}:{minutes:02}"
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join(f"{whole} {name}" for whole, name in parts if whole) or "0 s"


def _split(seconds: int) -> tuple[int, int, int, int]:
    """Days, hours, minutes and seconds."""
    minutes, rest = divmod(seconds, _MINUTE)
    hours, minutes = divmod(minutes, 60)
    return *divmod(hours, 24), minutes, rest


def _log_candidates(low: float, high: float, factors: tuple[float, ...]) -> Iterator[float]:
    powers = range(math.floor(low), math.ceil(high) + 1)
    return (factor * 10.0**power for power in powers for factor in factors)


def _logarithms(values: Sequence[float]) -> list[Tick]:
    """These values at their logarithms, all written in one way."""
    return list(zip(map(math.log10, values), alike(values), strict=True))


def _plain(value: float, digits: int) -> str:
    return grouped(value + 0.0, digits)


def _power(value: float, digits: int) -> str:
    """A number that would take the room of the plot, as `2.5e29`: so many digits behind the point at the most."""
    number, power = f"{value:.{digits}e}".split("e")
    return f"{number.rstrip('0').rstrip('.')}e{int(power)}" if value else "0"
