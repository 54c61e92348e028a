"""How values become heights: linear, logarithmic, or bytes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpu_studio.runs.round_numbers import binary_step
from gpu_studio.ui.widgets.plots import ticks
from gpu_studio.ui.widgets.plots.decimate import Array
from gpu_studio.ui.widgets.plots.ticks import Tick

_NEAR_ZERO = 0.35


@dataclass(frozen=True, slots=True)
class Scale:
    """A kind of vertical axis.

    `heights` maps values to heights (not a number where a value has none), `fit` widens what is to be seen, in
    heights, to a round range with room for some rows, `ticks` names heights in a range, about one for each row.
    """

    heights: Callable[[Array], Array]
    fit: Callable[[float, float, int], tuple[float, float]]
    ticks: Callable[[float, float, int], list[Tick]]


def _same(values: Array) -> Array:
    return values


def _logarithms(values: Array) -> Array:
    positive = np.where(values > 0, values, np.nan)
    return np.log10(positive)


def _fit_linear(low: float, high: float, rows: int) -> tuple[float, float]:
    """A range that begins at zero where zero is near."""
    if 0 < low < _NEAR_ZERO * high:
        low = 0.0
    return ticks.round_range(low, high, rows)


def _fit_log(low: float, high: float, rows: int) -> tuple[float, float]:
    del rows
    margin = max((high - low) * 0.06, 0.02)
    return low - margin, high + margin


def _fit_bytes(low: float, high: float, rows: int) -> tuple[float, float]:
    """From zero to a round number of bytes."""
    del low
    step = binary_step(max(high, 1.0), rows)
    return 0.0, max(math.ceil(high / step), 1) * step


LINEAR = Scale(_same, _fit_linear, ticks.linear_ticks)
LOG = Scale(_logarithms, _fit_log, ticks.log_ticks)
BYTES = Scale(_same, _fit_bytes, ticks.binary_ticks)


def _fit_percent(low: float, high: float, rows: int) -> tuple[float, float]:
    del low, high, rows
    return 0.0, 100.0


def _in(unit: str) -> Callable[[float, float, int], list[Tick]]:
    return lambda low, high, rows: [(at, f"{text} {unit}") for at, text in ticks.linear_ticks(low, high, rows)]


PERCENT = Scale(_same, _fit_percent, _in("%"))
WATTS = Scale(_same, lambda low, high, rows: _fit_linear(min(low, 0.0), high, rows), _in("W"))
CELSIUS = Scale(_same, _fit_linear, _in("°C"))
BYTES_A_SECOND = Scale(
    _same, _fit_bytes, lambda low, high, rows: [(at, f"{text}/s") for at, text in ticks.binary_ticks(low, high, rows)]
)
