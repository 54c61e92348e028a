"""Stages for devices in a row, and the least that those cost that take no longer than some time each.

For a given greatest stage time T the sum of the stages' costs is minimised by dynamic programming over (layer, device),
as the optimiser of Alpa does (Zheng et al. 2022, section 5.2, equations 2 to 4). A device may be left without a stage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpu_studio.placement.work import Array

STRICTLY = 1 - 1e-12
"""So much less is less, whatever the rounding."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Stages for devices in a row: device d has the layers ends[d - 1] … ends[d] - 1.

    `cost` is the sum of the stages' costs, `longest` the greatest stage time.
    """

    ends: tuple[int, ...]
    cost: float
    longest: float

    def total(self, micro_batches: int) -> float:
        """What is minimised."""
        return self.cost + (micro_batches - 1) * self.longest


@dataclass(frozen=True, slots=True)
class Tables:
    """For each device the time and the cost of every block as its stage, as `blocks` lays them out.

    The cost is infinite where a device cannot have the block.
    """

    seconds: Sequence[Array]
    cost: Sequence[Array]


def within(tables: Tables, longest: float) -> Partition | None:
    """The partition of least cost whose stages take at most `longest` seconds each; None if there is none."""
    costs = [allowed(*pair, longest) for pair in zip(tables.seconds, tables.cost, strict=True)]
    reached = reached_by(costs)
    if not np.isfinite(reached[-1][-1]):
        return None
    ends = _traced(reached, costs)
    return Partition(ends, float(reached[-1][-1]), _longest(tables, ends))


def reached_by(costs: Sequence[Array]) -> list[Array]:
    """For each device the least cost of having placed the first n layers before it, and last of all after them."""
    reached = [_nothing_placed(len(costs[0]))]
    for cost in costs:
        with_stage = np.append(np.inf, (window(reached[-1], cost) + cost).min(axis=1))
        reached.append(np.minimum(reached[-1], with_stage))
    return reached


def least_longest(tables: Tables, known: float = np.inf) -> float:
    """The least that the greatest stage time can be: the linear partition problem, by dynamic programming.

    PipeDream (Narayanan et al. 2019, section 3.1) minimises this alone. It is known that `known` can be kept to.
    """
    reached = _nothing_placed(len(tables.cost[0]))
    for every, whole in zip(tables.seconds, tables.cost, strict=True):
        width = _width(every, known)
        seconds, cost = every[:, :width], whole[:, :width]
        longest = np.where(np.isfinite(cost), np.maximum(window(reached, cost), seconds), np.inf)
        reached = np.minimum(reached, np.append(np.inf, longest.min(axis=1)))
    return float(reached[-1])


def allowed(seconds: Array, cost: Array, longest: float) -> Array:
    """The costs of the blocks that take at most so long, in a table no wider than the longest of those blocks."""
    if np.isinf(longest):
        return cost
    width = _width(seconds, longest)
    return np.where(seconds[:, :width] <= longest, cost[:, :width], np.inf)


def _width(seconds: Array, longest: float) -> int:
    """How many layers the longest block has that takes at most so long; one at least."""
    if np.isinf(longest):
        return len(seconds)
    # A block takes longer the more layers it has.
    return max(1, bisect_left(range(len(seconds)), True, key=lambda more: bool((seconds[:, more] > longest).all())))


def window(reached: Array, cost: Array) -> Array:
    """For each block of a table what was reached before it: reached[j - w]."""
    size, width = cost.shape
    padded = np.concatenate((np.full(width - 1, np.inf), reached[:size]))
    return sliding_window_view(padded, width)[:, ::-1]


def _nothing_placed(layers: int) -> Array:
    """The cost of having placed the first n layers, for n from 0 on, on no device at all."""
    return np.append(0.0, np.full(layers, np.inf))


def _traced(reached: Sequence[Array], costs: Sequence[Array]) -> tuple[int, ...]:
    """Which stages led to the end, from the last device to the first."""
    end = len(reached[0]) - 1
    ends: list[int] = []
    for device in reversed(range(len(costs))):
        ends.append(end)
        if end and reached[device][end] != reached[device + 1][end]:
            row = costs[device][end - 1]
            begins = np.arange(end - 1, end - 1 - len(row), -1)
            whole = np.where(begins >= 0, reached[device][np.maximum(begins, 0)] + row, np.inf)
            end = int(begins[int(whole.argmin())])
    return tuple(reversed(ends))


def _longest(tables: Tables, ends: Sequence[int]) -> float:
    begins = (0, *ends)
    stages = zip(tables.seconds, begins, ends, strict=False)
    return max(float(seconds[end - 1, end - begin - 1]) for seconds, begin, end in stages if end > begin)
