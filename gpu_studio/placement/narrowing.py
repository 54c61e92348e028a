"""The exact optimum over the greatest stage time T, by branch and bound over intervals of T.

What partitions with T from `low` to `high` cost at least is known: the least cost at `high`, and (M - 1) · `low`. So is
what those at least cost that have a certain block as a stage: the least cost up to the block, its own, and that from
there on. Blocks that are in no better partition than the best so far are left out, and an interval in which something
better may be is halved. Of a million blocks some thousands are left at once, and some dozens soon.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from gpu_studio.placement.stages import STRICTLY, Partition, Tables, allowed, reached_by, window
from gpu_studio.placement.work import Array

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Those blocks of a device that may be its stage, by their ends: layers begins … ends - 1."""

    begins: Places
    ends: Places
    seconds: Array
    cost: Array

    def where(self, kept: NDArray[np.bool_]) -> _Blocks:
        return _Blocks(self.begins[kept], self.ends[kept], self.seconds[kept], self.cost[kept])


@dataclass(frozen=True, slots=True)
class _Search:
    """What is the same throughout a search: how many layers there are, and M - 1."""

    layers: int
    weight: int

    def total(self, partition: Partition) -> float:
        return partition.total(self.weight + 1)


def least_total(tables: Tables, micro_batches: int, best: Partition, low: float, high: float) -> Partition:
    """The best of all partitions, given a good one and that each better one has T from `low` to `high`."""
    search = _Search(len(tables.cost[0]), micro_batches - 1)
    blocks = _promising(tables, search, best, low, high)
    order = count()
    waiting = [(0.0, next(order), low, high, blocks)]
    while waiting and waiting[0][0] < search.total(best) * STRICTLY:
        _, _, low, high, blocks = heapq.heappop(waiting)
        blocks = [each.where(each.seconds <= high) for each in blocks]
        ahead = _ahead(search, blocks)
        if not np.isfinite(ahead[-1][-1]):
            continue
        found = _traced(search, blocks, ahead)
        best = min(best, found, key=search.total)
        # All others in this interval cost as much, and are better only if their longest stage is shorter.
        high = found.longest * STRICTLY
        if high < low or found.cost + search.weight * low >= search.total(best) * STRICTLY:
            continue
        blocks = _better(search, blocks, ahead, low, search.total(best))
        middle = (low + high) / 2
        for least, most in ((low, middle), (middle, high)):
            heapq.heappush(waiting, (found.cost + search.weight * least, next(order), least, most, blocks))
    return best


def _promising(tables: Tables, search: _Search, best: Partition, low: float, high: float) -> list[_Blocks]:
    """From the tables those blocks that a better partition can have."""
    costs = [allowed(*pair, high) for pair in zip(tables.seconds, tables.cost, strict=True)]
    ahead, behind = reached_by(costs), _behind_by(costs)
    found = []
    for place, (seconds, cost) in enumerate(zip(tables.seconds, costs, strict=True)):
        longest = np.maximum(seconds[:, : cost.shape[1]], low)
        total = window(ahead[place], cost) + cost + behind[place + 1][1:, None] + search.weight * longest
        last, more = np.nonzero(total < search.total(best) * STRICTLY)
        found.append(_Blocks(last - more, last + 1, seconds[last, more], cost[last, more]))
    return found


def _behind_by(costs: Sequence[Array]) -> list[Array]:
    """For each device the least cost of placing the layers from each on, on it and those after it."""
    behind = [np.append(np.full(len(costs[0]), np.inf), 0.0)]
    for cost in reversed(costs):
        layers, width = cost.shape
        whole = np.vstack((cost + behind[0][1:, None], np.full((width, width), np.inf)))
        row, column = whole.strides
        by_begin = as_strided(whole, (layers, width), (row, row + column), writeable=False)
        behind.insert(0, np.minimum(behind[0], np.append(by_begin.min(axis=1), np.inf)))
    return behind


def _better(
    search: _Search, blocks: Sequence[_Blocks], ahead: Sequence[Array], low: float, best: float
) -> list[_Blocks]:
    """Those blocks that a partition with a longest stage of `low` or more can have and be better than `best`."""
    behind = _behind(search, blocks)
    left = []
    for place, each in enumerate(blocks):
        whole = ahead[place][each.begins] + each.cost + behind[place + 1][each.ends]
        left.append(each.where(whole + search.weight * np.maximum(each.seconds, low) < best * STRICTLY))
    return left


def _ahead(search: _Search, blocks: Sequence[_Blocks]) -> list[Array]:
    """For each device the least cost of having placed the first n layers before it, and last of all after them."""
    ahead = [np.append(0.0, np.full(search.layers, np.inf))]
    for each in blocks:
        reached = ahead[-1].copy()
        np.minimum.at(reached, each.ends, ahead[-1][each.begins] + each.cost)
        ahead.append(reached)
    return ahead


def _behind(search: _Search, blocks: Sequence[_Blocks]) -> list[Array]:
    behind = [np.append(np.full(search.layers, np.inf), 0.0)]
    for each in reversed(blocks):
        left = behind[0].copy()
        np.minimum.at(left, each.begins, behind[0][each.ends] + each.cost)
        behind.insert(0, left)
    return behind


def _traced(search: _Search, blocks: Sequence[_Blocks], ahead: Sequence[Array]) -> Partition:
    """Which stages led to the end, from the last device to the first."""
    end, longest, ends = search.layers, 0.0, []
    for place in reversed(range(len(blocks))):
        ends.append(end)
        if ahead[place][end] != ahead[place + 1][end]:
            each = blocks[place]
            here = slice(*np.searchsorted(each.ends, (end, end + 1)))
            block = here.start + int((ahead[place][each.begins[here]] + each.cost[here]).argmin())
            end, longest = int(each.begins[block]), max(longest, float(each.seconds[block]))
    return Partition(tuple(reversed(ends)), float(ahead[-1][-1]), longest)
