"""The exact optimum over the greatest stage time T, by branch and bound over intervals of T.

What partitions with T from `low` to `high` cost at least is known: the least cost at `high`, and (M - 1) · `low`. So is
what those at least cost that have a certain block as a stage: the least cost up to the block, its own, and that from
there on. An interval in which something better than the best so far may be is halved; and once it is so short that few
blocks are in something better, only those are looked at: of a million some thousands, and some dozens soon.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from gpu_studio.placement.stages import (
    STRICTLY,
    Frame,
    Line,
    Partition,
    Places,
    costs_before,
    costs_behind,
    frame,
    traced,
)
from gpu_studio.placement.work import Array

SHORT = 0.01
"""An interval is short if this share of the best so far is all that what is in it can cost more than at least: what is
better has few blocks then."""


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
class _Interval:
    """Values of T, and of each device the blocks that are in something better; None as long as that can be any."""

    low: float
    high: float
    blocks: list[_Blocks] | None = None


@dataclass(frozen=True, slots=True)
class _Search:
    """What is the same throughout a search: the devices, and M - 1."""

    lines: Sequence[Line]
    weight: int

    @property
    def layers(self) -> int:
        return len(self.lines[0].clock) - 1

    def total(self, partition: Partition) -> float:
        return partition.total(self.weight + 1)

    def least(self, interval: _Interval, best: Partition) -> tuple[Partition | None, _Interval | None]:
        """The cheapest partition with a T in the interval, and where in it something better than both may be."""
        if interval.blocks is None:
            return self._of_all(interval, best)
        return self._of_few(interval, interval.blocks, best)

    def _of_all(self, interval: _Interval, best: Partition) -> tuple[Partition | None, _Interval | None]:
        there = frame(self.lines, interval.high)
        if there is None:
            return None, None
        ahead = costs_before(self.lines, there)
        if not np.isfinite(ahead[-1][-1]):
            return None, None
        found = traced(self.lines, there, ahead)
        left = self._left(interval, found, best)
        if left is None:
            return found, None
        least, limit = found.cost + self.weight * left.low, self._limit(found, best)
        if limit - least > SHORT * limit:
            return found, left
        return found, replace(left, blocks=self._listed(there, ahead, left.low, limit))

    def _of_few(
        self, interval: _Interval, every: Sequence[_Blocks], best: Partition
    ) -> tuple[Partition | None, _Interval | None]:
        blocks = [each.where(each.seconds <= interval.high) for each in every]
        ahead = _ahead(self.layers, blocks)
        if not np.isfinite(ahead[-1][-1]):
            return None, None
        found = _traced(self.layers, blocks, ahead)
        left = self._left(interval, found, best)
        if left is None:
            return found, None
        return found, replace(left, blocks=self._better(blocks, ahead, left.low, self._limit(found, best)))

    def _limit(self, found: Partition, best: Partition) -> float:
        return min(self.total(found), self.total(best)) * STRICTLY

    def _left(self, interval: _Interval, found: Partition, best: Partition) -> _Interval | None:
        """Where in the interval something better may be, if all that is there costs as much as what was found."""
        limit = self._limit(found, best)
        high = min(found.longest * STRICTLY, interval.high, (limit - found.cost) / self.weight)
        return replace(interval, high=high) if high >= interval.low else None

    def _listed(self, there: Frame, ahead: Sequence[Array], low: float, limit: float) -> list[_Blocks]:
        """Those blocks that a partition of less than `limit` can have, with a longest stage of `low` or more."""
        behind = costs_behind(self.lines, there)
        alive = [
            np.flatnonzero(one + other + self.weight * low < limit) for one, other in zip(ahead, behind, strict=True)
        ]
        found = []
        for device, line in enumerate(self.lines):
            begins, ends = alive[device], alive[device + 1]
            seconds = line.clock[ends, None] - line.clock[begins]
            cost = seconds + line.per_byte * line.sent.table[np.ix_(ends, begins)]
            whole = ahead[device][begins] + cost + behind[device + 1][ends, None]
            kept = whole + self.weight * np.maximum(seconds, low) < limit
            kept &= (begins >= there.begins[device][ends, None]) & (begins < ends[:, None])
            last, first = np.nonzero(kept)
            found.append(_Blocks(begins[first], ends[last], seconds[kept], cost[kept]))
        return found

    def _better(self, blocks: Sequence[_Blocks], ahead: Sequence[Array], low: float, limit: float) -> list[_Blocks]:
        """The same of some blocks."""
        behind = _behind(self.layers, blocks)
        left = []
        for place, each in enumerate(blocks):
            whole = ahead[place][each.begins] + each.cost + behind[place + 1][each.ends]
            left.append(each.where(whole + self.weight * np.maximum(each.seconds, low) < limit))
        return left


def least_total(lines: Sequence[Line], micro_batches: int, best: Partition, low: float, high: float) -> Partition:
    """The best of all partitions, given a good one and that each better one has T from `low` to `high`."""
    search = _Search(lines, micro_batches - 1)
    order = count()
    waiting = [(0.0, next(order), _Interval(low, high))]
    while waiting and waiting[0][0] < search.total(best) * STRICTLY:
        found, left = search.least(heapq.heappop(waiting)[2], best)
        if found is None:
            continue
        best = min(best, found, key=search.total)
        if left is None:
            continue
        middle = (left.low + left.high) / 2
        for part in (replace(left, high=middle), replace(left, low=middle)):
            heapq.heappush(waiting, (found.cost + search.weight * part.low, next(order), part))
    return best


def _ahead(layers: int, blocks: Sequence[_Blocks]) -> list[Array]:
    """For each device the least cost of having placed the first n layers before it, and last of all after them."""
    ahead = [np.append(0.0, np.full(layers, np.inf))]
    for each in blocks:
        reached = ahead[-1].copy()
        np.minimum.at(reached, each.ends, ahead[-1][each.begins] + each.cost)
        ahead.append(reached)
    return ahead


def _behind(layers: int, blocks: Sequence[_Blocks]) -> list[Array]:
    behind = [np.append(np.full(layers, np.inf), 0.0)]
    for each in reversed(blocks):
        left = behind[0].copy()
        np.minimum.at(left, each.begins, behind[0][each.ends] + each.cost)
        behind.insert(0, left)
    return behind


def _traced(layers: int, blocks: Sequence[_Blocks], ahead: Sequence[Array]) -> Partition:
    """Which stages led to the end, from the last device to the first."""
    end, longest, ends = layers, 0.0, []
    for place in reversed(range(len(blocks))):
        ends.append(end)
        if ahead[place][end] != ahead[place + 1][end]:
            each = blocks[place]
            here = slice(*np.searchsorted(each.ends, (end, end + 1)))
            block = here.start + int((ahead[place][each.begins[here]] + each.cost[here]).argmin())
            end, longest = int(each.begins[block]), max(longest, float(each.seconds[block]))
    return Partition(tuple(reversed(ends)), float(ahead[-1][-1]), longest)
