"""Round numbers for an axis, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from gpu_studio.ui.models.figures import UNITS, size_unit
from gpu_studio.ui.units import THIN

_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_LOG_STEPS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))

Tick = tuple[float, str]


def round_step(span: float, count: int) -> float:
    """The smallest of 1, 2, 2.5 or 5 times a power of ten that cuts `span` (above 0) into at most `count` parts."""
    raw = span / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return power * next(factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= raw * (1 - 1e-9))


def round_range(low: float, high: float, count: int) -> tuple[float, float]:
    """The range from `low` to `high` widened to whole steps, at most `count` or 2; an empty one gets some height."""
    if high <= low:
        low, high = low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
    span, count = high - low, max(count, 2)  # one step can never hold a range that has zero inside
    while True:
        step = round_step(span, count)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= count:
            return first * step, last * step
        span = step * (count + 0.5)


def linear_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round values from `low` to `high`, about `count` of them, with as many digits as tell them apart."""
    step = round_step(high - low, count)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += round(step * 10**digits, 6) % 1 > 0
    return [(value, _plain(value, digits)) for value in _multiples(low, high, step)]


def log_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round values between 10**`low` and 10**`high`: at their logarithms, written as themselves.

    A range too narrow for the steps of a logarithmic axis gets those of a linear one.
    """
    for factors in _LOG_STEPS:
        found = [tick for tick in _log_candidates(low, high, factors) if low <= tick[0] <= high]
        if 2 <= len(found) <= count + 1:
            return found
    if high - low < 1:
        return [(math.log10(value), text) for value, text in linear_ticks(10**low, 10**high, count) if value > 0]
    stride = max(1, math.ceil((high - low) / max(count, 1)))
    return [(float(power), _short(10.0**power)) for power in range(math.ceil(low), math.floor(high) + 1, stride)]


def binary_step(span: float, count: int) -> float:
    """The smallest power of two that cuts `span` bytes into at most `count` parts."""
    return 2.0 ** math.ceil(math.log2(max(span / max(count, 1), 1.0)) - 1e-9)


def binary_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round numbers of bytes, all in the one unit that suits the highest of them."""
    step = binary_step(high - low, count)
    name = size_unit(int(high))
    amount = UNITS[name]
    digits = next((digits for digits in range(3) if round(step / amount, digits) * amount == step), 2)
    return [(value, f"{_plain(value / amount, digits)} {name}") for value in _multiples(low, high, step)]


def time_ticks(start: float, end: float, count: int) -> list[Tick]:
    """Round seconds, written as durations: `30 s`, `1 min 30 s`, `2 h`."""
    step = _time_step(end - start, count)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(value, f"{value:.{digits}f} s" if digits else _moment(value)) for value in _multiples(start, end, step)]


def count_ticks(low: float, high: float, count: int) -> list[Tick]:
    """Round whole numbers from `low` to `high`, about `count` of them: `1 500`."""
    step = max(round_step(high - low, count), 1.0)
    step = 5.0 if step == 2.5 else step
    return [(value, _plain(value, 0)) for value in _multiples(low, high, step)]


def part_ticks(low: float, high: float, count: int) -> list[Tick]:
    """The same with halves, tenths and so on where there is room for them: `20`, `20.5`."""
    return count_ticks(low, high, count) if high - low >= count else linear_ticks(low, high, count)


def clock_ticks(start: float, end: float, count: int, origin: float) -> list[Tick]:
    """Round moments of the local day between `start` and `end` seconds after `origin` (since 1970): `14:02:30`."""
    step = _time_step(end - start, count)
    shift = origin + (datetime.fromtimestamp(origin).astimezone().utcoffset() or timedelta()).total_seconds()
    pattern = "%H:%M:%S" if step < 60 else "%H:%M"
    moments = (value - shift for value in _multiples(start + shift, end + shift, step))
    return [(at, datetime.fromtimestamp(origin + at).astimezone().strftime(pattern)) for at in moments]


def _time_step(span: float, count: int) -> float:
    raw = span / max(count, 1)
    if raw < 1:
        return round_step(span, count)
    return next((step for step in _TIME_STEPS if step >= raw), math.ceil(raw / 86400) * 86400)


def _moment(seconds: float) -> str:
    """Whole seconds as `45 s`, `1 min 12 s`, `3 h 5 min`, `2 d 4 h`: the two largest units that are not zero."""
    rest = round(seconds)
    parts: list[tuple[int, str]] = []
    for size, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        whole, rest = divmod(rest, size)
        if whole or parts:
            parts.append((whole, name))
    return " ".join(f"{whole} {name}" for whole, name in parts[:2] if whole) or "0 s"


def _multiples(low: float, high: float, step: float) -> Iterator[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return (index * step for index in range(first, last + 1))


def _log_candidates(low: float, high: float, factors: tuple[float, ...]) -> list[Tick]:
    powers = range(math.floor(low), math.ceil(high) + 1)
    values = (factor * 10.0**power for power in powers for factor in factors)
    return [(math.log10(value), _short(value)) for value in values]


def _plain(value: float, digits: int) -> str:
    return f"{value + 0.0:,.{digits}f}".replace(",", THIN)


def _short(value: float) -> str:
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e") if not 1e-3 <= value < 1e5 else f"{value:g}"
