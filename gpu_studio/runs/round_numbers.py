"""Round numbers at which an axis is marked, for the window's plots and for the charts of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

_SECONDS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_DAY: Final = 86400
_SLACK: Final = 1e-9
"""A number that is round but for the last bits counts as round."""


def round_step(span: float, count: int) -> float:
    """The smallest of 1, 2, 2.5 or 5 times a power of ten that cuts `span` (above 0) into at most `count` parts."""
    raw = span / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return power * next(factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= raw * (1 - _SLACK))


def time_step(span: float, count: int) -> float:
    """The same in seconds, where that is at least one: those of a clock, such as 15, 300 or 7200, or whole days."""
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
    return (place * step for place in range(math.ceil(low / step - _SLACK), math.floor(high / step + _SLACK) + 1))


def outward(low: float, high: float, step: float) -> tuple[int, int]:
    """How many steps the multiples of `step` are from 0 between which `low` and `high` lie."""
    return math.floor(low / step + _SLACK), math.ceil(high / step - _SLACK)


def with_height(low: float, high: float) -> tuple[float, float]:
    """A range from `low` to `high`; one without any height gets some, with the value in its middle."""
    if high > low:
        return low, high
    return low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
