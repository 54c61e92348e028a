"""The best partition, of whatever longest stage time T: branch and bound over ranges of T."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from gpu_studio.placement.block_amounts import Mask, Places
from gpu_studio.placement.stages import (
    STRICTLY,
    DeviceStages,
    Frame,
    Partition,
    Span,
    costs_before,
    costs_behind,
    frame,
    traced,
)
from gpu_studio.placement.work import Array

SHORT = 0.01
"""An interval is short if its lower bound is within this share of the best cost so far: a better
partition then has few blocks to choose from."""


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The possible stages of a device: block i has the layers begins[i] … ends[i] - 1."""

    begins: Places
    ends: Places
    seconds: Array
    cost: Array

    def where(self, kept: Mask) -> _Blocks:
        return _Blocks(self.begins[kept], self.ends[kept], self.seconds[kept], self.cost[kept])


@dataclass(frozen=True, slots=True)
class _Interval:
    """A range of T, and what is known of possibly better partitions; None if nothing is.

    `behind` is what layers cost at least from each on, on each device and those after it; `span`
    where each device begins; and `blocks` are those that its stage can be.
    """

    low: float
    high: float
    behind: list[Array] | None = None
    span: Span | None = None
    blocks: list[_Blocks] | None = None


@dataclass(frozen=True, slots=True)
class _Search:
    """The constants of a search: the devices, and `weight`, M - 1."""

    lines: Sequence[DeviceStages]
    weight: int

    @property
    def layers(self) -> int:
        return len(self.lines[0].clock) - 1

    def total(self, partition: Partition) -> float:
        return partition.total(self.weight + 1)

    def least(
        self, interval: _Interval, best: Partition
    ) -> tuple[Partition | None, _Interval | None]:
        """The cheapest partition with T in the interval, and where in it a better one may be."""
        if interval.blocks is None:
            return self._of_all(interval, best)
        return self._of_few(interval, interval.blocks, best)

    def _of_all(
        self, interval: _Interval, best: Partition
    ) -> tuple[Partition | None, _Interval | None]:
        there = frame([line.begins(interval.high) for line in self.lines], interval.span)
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
        if limit - least <= SHORT * limit:
            return found, replace(left, blocks=self._listed(there, ahead, left.low, limit))
        # In a part of the interval nothing costs less than in the whole.
        behind = left.behind or costs_behind(self.lines, there)
        alive = self._alive(ahead, behind, left.low, limit)
        if not all(map(len, alive)):
            return found, None
        span = [int(each[0]) for each in alive], [int(each[-1]) for each in alive]
        return found, replace(left, behind=behind, span=span)

    def _of_few(
        self, interval: _Interval, every: Sequence[_Blocks], best: Partition
    ) -> tuple[Partition | None, _Interval | None]:
        blocks = [each.where(each.seconds <= interval.high) for each in every]
        ahead = _ahead(self.layers, blocks)
        if not np.isfinite(ahead[-1][-1]):
            return None, None
        found = _traced_blocks(self.layers, blocks, ahead)
        left = self._left(interval, found, best)
        if left is None:
            return found, None
        return found, replace(
            left, blocks=self._better(blocks, ahead, left.low, self._limit(found, best))
        )

    def _limit(self, found: Partition, best: Partition) -> float:
        return min(self.total(found), self.total(best)) * STRICTLY

    def _left(self, interval: _Interval, found: Partition, best: Partition) -> _Interval | None:
        """The part of the interval that may hold a better partition than `found` and `best`.

        No partition in the interval costs less than `found`.
        """
        limit = self._limit(found, best)
        high = min(found.longest * STRICTLY, interval.high, (limit - found.cost) / self.weight)
        return replace(interval, high=high) if high >= interval.low else None

    def _listed(
        self, there: Frame, ahead: Sequence[Array], low: float, limit: float
    ) -> list[_Blocks]:
        """The blocks of partitions that total less than `limit`, with T of at least `low`."""
        behind = costs_behind(self.lines, there)
        alive = self._alive(ahead, behind, low, limit)
        found = []
        for device, line in enumerate(self.lines):
            begins, ends = alive[device], alive[device + 1]
            seconds = line.clock[ends, None] - line.clock[begins]
            cost = seconds + line.per_byte * line.sent.among(ends, begins)
            whole = ahead[device][begins] + cost + behind[device + 1][ends, None]
            kept = whole + self.weight * np.maximum(seconds, low) < limit
            kept &= (begins >= there.begins[device][ends, None]) & (begins < ends[:, None])
            last, first = np.nonzero(kept)
            found.append(_Blocks(begins[first], ends[last], seconds[kept], cost[kept]))
        return found

    def _alive(
        self, ahead: Sequence[Array], behind: Sequence[Array], low: float, limit: float
    ) -> list[Places]:
        """Where the devices begin in partitions that total less than `limit`, and the last ends."""
        return [
            np.flatnonzero(one + other + self.weight * low < limit)
            for one, other in zip(ahead, behind, strict=True)
        ]

    def _better(
        self, blocks: Sequence[_Blocks], ahead: Sequence[Array], low: float, limit: float
    ) -> list[_Blocks]:
        """The same, restricted to these blocks."""
        behind = _behind(self.layers, blocks)
        left = []
        for place, each in enumerate(blocks):
            whole = ahead[place][each.begins] + each.cost + behind[place + 1][each.ends]
            left.append(each.where(whole + self.weight * np.maximum(each.seconds, low) < limit))
        return left


def least_total(
    lines: Sequence[DeviceStages], micro_batches: int, best: Partition, low: float, high: float
) -> Partition:
    """The best of all partitions, given a good one; every better one has T from `low` to `high`.

    Branch and bound over intervals of T. A partition with T from `low` to `high` costs at least the
    least cost at `high`, plus (M - 1) · `low`. One that has a certain block as a stage costs at
    least the least cost up to the block, plus its own, plus the least cost from there on. An
    interval that may contain something better than the best so far is halved. Once it is so short
    that few blocks can be part of something better, only those are considered: of a million blocks
    some thousands, and soon some dozens.
    """
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
    """Entry [d][n] is the least cost of the first n layers on the devices before d."""
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


def _traced_blocks(layers: int, blocks: Sequence[_Blocks], ahead: Sequence[Array]) -> Partition:
    """Follow the least cost back, from the last device to the first, to its stages."""
    end, longest, ends = layers, 0.0, []
    for place in reversed(range(len(blocks))):
        ends.append(end)
        if ahead[place][end] != ahead[place + 1][end]:
            each = blocks[place]
            here = slice(*np.searchsorted(each.ends, (end, end + 1)))
            block = here.start + int((ahead[place][each.begins[here]] + each.cost[here]).argmin())
            end, longest = int(each.begins[block]), max(longest, float(each.seconds[block]))
    return Partition(tuple(reversed(ends)), float(ahead[-1][-1]), longest)
