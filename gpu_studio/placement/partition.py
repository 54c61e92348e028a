"""Cut an ordered model into stages for devices in a row, so that a pipelined step takes the least time.

    minimise  Σ_k cost_k + (M - 1) · max_k t_k

where t_k is the time of stage k for one micro-batch, and cost_k that time with what it takes to send it its input. For
a given greatest stage time T the sum is minimised by dynamic programming over (layer, device), as the optimiser of
Alpa does (Zheng et al. 2022, section 5.2, equations 2 to 4). Alpa enumerates T; here each solution says below which T
a better one must lie, and the search goes on there. PipeDream (Narayanan et al. 2019, section 3.1) minimises the
maximum alone. A device may be left without a stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpu_studio.placement.work import Array

STRICTLY = 1 - 1e-12
"""So much less is less, whatever the rounding."""
EXACT_LAYERS = 100
COARSE_STEPS = 8
"""With more layers than those, T is tried in so many steps: on devices of unlike speed hundreds differ by next to
nothing. What a partition that was passed over could save is known, and said."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Stages for devices in a row: device d has the layers ends[d - 1] … ends[d] - 1.

    `cost` is the sum of the stages' costs, `longest` the greatest stage time; no partition at all has a total of less
    than `bound`.
    """

    ends: tuple[int, ...]
    cost: float
    longest: float
    bound: float = 0.0

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


def minimise(tables: Tables, micro_batches: int) -> Partition | None:
    """The best partition, for more than 100 layers one near it; None if the devices' limits allow none."""
    loosest = within(tables, np.inf)
    if loosest is None or micro_batches == 1:
        return loosest and replace(loosest, bound=loosest.cost)
    floor = least_longest(tables)
    tightest = within(tables, floor / STRICTLY)
    best = min((each for each in (loosest, tightest) if each), key=lambda each: each.total(micro_batches))
    return _searched(tables, micro_batches, floor, best, loosest.cost)


def _searched(tables: Tables, micro_batches: int, floor: float, best: Partition, least: float) -> Partition:
    """Go down in T from where a better partition than `best` must lie, given that all cost `least` or more."""
    weight, proven, high, last = micro_batches - 1, np.inf, np.inf, np.inf
    step = 0.0 if len(tables.cost[0]) <= EXACT_LAYERS else _room(best, least, weight, floor) / COARSE_STEPS
    while (bound := (best.total(micro_batches) - least) / weight * STRICTLY) >= floor:
        high = max(floor, min(bound, high, last - step))
        last = high
        proven = min(proven, least + weight * high)
        found = within(tables, high)
        if found is None:
            break
        best = min(best, found, key=lambda each: each.total(micro_batches))
        least = found.cost
        if high == floor:
            break
        high = found.longest * STRICTLY
    return replace(best, bound=min(proven, best.total(micro_batches)))


def _room(best: Partition, least: float, weight: int, floor: float) -> float:
    return (best.total(weight + 1) - least) / weight - floor


def within(tables: Tables, longest: float) -> Partition | None:
    """The partition of least cost whose stages take at most `longest` seconds each; None if there is none."""
    costs = [_allowed(*pair, longest) for pair in zip(tables.seconds, tables.cost, strict=True)]
    reached = [_nothing_placed(tables)]
    for cost in costs:
        with_stage = np.concatenate(([np.inf], (_window(reached[-1], cost) + cost).min(axis=1)))
        reached.append(np.minimum(reached[-1], with_stage))
    if not np.isfinite(reached[-1][-1]):
        return None
    ends = _traced(reached, costs)
    return Partition(ends, float(reached[-1][-1]), _longest(tables, ends))


def least_longest(tables: Tables) -> float:
    """The least that the greatest stage time can be: the linear partition problem, by dynamic programming."""
    reached = _nothing_placed(tables)
    for seconds, cost in zip(tables.seconds, tables.cost, strict=True):
        longest = np.where(np.isfinite(cost), np.maximum(_window(reached, cost), seconds), np.inf)
        reached = np.minimum(reached, np.concatenate(([np.inf], longest.min(axis=1))))
    return float(reached[-1])


def _nothing_placed(tables: Tables) -> Array:
    """The cost of having placed the first n layers, for n from 0 on, on no device at all."""
    return np.concatenate(([0.0], np.full(len(tables.cost[0]), np.inf)))


def _allowed(seconds: Array, cost: Array, longest: float) -> Array:
    """The costs of the blocks that take at most so long, in a table no wider than the longest of those blocks."""
    if np.isinf(longest):
        return cost
    # A block takes longer the more layers it has, so that what is allowed is the beginning of each row.
    width = max(1, int((seconds <= longest).sum(axis=1).max()))
    return np.where(seconds[:, :width] <= longest, cost[:, :width], np.inf)


def _window(reached: Array, cost: Array) -> Array:
    """For each block of a table what was reached before it: reached[j - w]."""
    size, width = cost.shape
    padded = np.concatenate((np.full(width - 1, np.inf), reached[:size]))
    return sliding_window_view(padded, width)[:, ::-1]


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
