"""The cheapest stages for devices in a row, whose longest stage takes at most a time T.

For a given T the sum of the stages' costs is minimised by dynamic programming over (layer,
device), as the optimiser of Alpa does (Zheng et al. 2022, section 5.2, equations 2 to 4). A
device may be left without a stage. The later a stage ends, the later its earliest begin: so T
limits the layers between which each device's stage can begin and end. The best T is found by
branch and bound (`least_total`).
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

from gpu_studio.placement.blocks import AT_ONCE
from gpu_studio.placement.work import Array

Places = NDArray[np.int64]
STRICTLY = 1 - 1e-12
"""A value below this share of another is smaller, allowing for rounding."""
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class SentBytes:
    """The bytes sent for each block, as a table (see `blocks`); infinite if the block does not fit.

    Blocks that end with layer e - 1 and begin before layer `first[e]` never fit; the table is not
    read there. Without `first` any block may fit.
    """

    table: Array
    first: Places | None = None


@dataclass(frozen=True, slots=True)
class DeviceStages:
    """A device's stages: layers b … e - 1 take `clock[e] - clock[b]`.

    They cost `per_byte · sent[e, b]` more. `clock` is the time of the layers before each;
    `per_byte` is greater than 0.
    """

    clock: Array
    sent: SentBytes
    per_byte: float

    def begins(self, longest: float) -> Places:
        """For each end the earliest begin of a stage that takes at most `longest` seconds."""
        begins = np.searchsorted(self.clock, self.clock - longest)
        return begins if self.sent.first is None else np.maximum(self.sent.first, begins)

    def seconds(self, begin: int, end: int) -> float:
        """The time of a stage."""
        return float(self.clock[end] - self.clock[begin])

    def cost(self, begin: int, end: int) -> float:
        """The cost of a stage; infinite if it does not fit."""
        if self.sent.first is not None and begin < self.sent.first[end]:
            return np.inf
        return self.seconds(begin, end) + self.per_byte * float(self.sent.table[end, begin])


@dataclass(frozen=True, slots=True)
class Partition:
    """Stages for devices in a row: device d has the layers ends[d - 1] … ends[d] - 1.

    `cost` is the sum of the stages' costs, `longest` the longest stage time.
    """

    ends: tuple[int, ...]
    cost: float
    longest: float

    def total(self, micro_batches: int) -> float:
        """The quantity that is minimised."""
        return self.cost + (micro_batches - 1) * self.longest


def partition_of(lines: Sequence[DeviceStages], ends: tuple[int, ...]) -> Partition:
    """The partition with these ends, and its cost; infinite if it does not fit."""
    stages = list(zip(lines, pairwise((0, *ends)), strict=True))
    cost = sum(line.cost(*block) for line, block in stages)
    return Partition(ends, cost, max(line.seconds(*block) for line, block in stages))


@dataclass(frozen=True, slots=True)
class Frame:
    """Where stages of limited time can begin and end: device d begins from low[d] to high[d].

    A stage of device d that ends before layer e begins at `begins[d][e]` at the earliest.
    """

    begins: list[Places]
    low: list[int]
    high: list[int]


def frame(lines: Sequence[DeviceStages], longest: float) -> Frame | None:
    """Where stages of at most `longest` seconds each can be.

    None if they cannot cover all layers.
    """
    layers = len(lines[0].clock) - 1
    begins = [line.begins(longest) for line in lines]
    high = [0]
    for each in begins:
        high.append(int(np.searchsorted(each, high[-1], side="right")) - 1)
    low = [layers]
    for each in reversed(begins):
        low.append(int(each[low[-1]]))
    return Frame(begins, low[::-1], high) if high[-1] == layers else None


def costs_before(lines: Sequence[DeviceStages], there: Frame) -> list[Array]:
    """Entry [d][n] is the least cost of the first n layers on the devices before d."""
    layers = len(lines[0].clock) - 1
    reached = [np.append(0.0, np.full(layers, np.inf))]
    for device, line in enumerate(lines):
        low, high = there.low[device], there.high[device]
        if (
            device
            and line is lines[device - 1]
            and np.array_equal(reached[-1][low:], reached[-2][low:])
        ):
            reached.append(reached[-1])  # one more of the same kind changes nothing
            continue
        ends = np.arange(there.low[device + 1], there.high[device + 1] + 1)
        starts = np.maximum(there.begins[device][ends], low)
        known = (reached[-1] - line.clock) / line.per_byte
        with_stage = _least(line.sent.table, known, ends, starts, np.minimum(ends, high + 1))
        found = np.full(layers + 1, np.inf)
        found[ends] = np.minimum(reached[-1][ends], with_stage * line.per_byte + line.clock[ends])
        reached.append(found)
    return reached


def costs_behind(lines: Sequence[DeviceStages], there: Frame) -> list[Array]:
    """Entry [d][n] is the least cost of the layers from n on, on device d and those after it."""
    layers = len(lines[0].clock) - 1
    behind = [np.append(np.full(layers, np.inf), 0.0)]
    for device, line in reversed(list(enumerate(lines))):
        low, high = there.low[device + 1], there.high[device + 1]
        one_more = len(behind) > 1 and line is lines[device + 1]
        if one_more and np.array_equal(behind[0][: high + 1], behind[1][: high + 1]):
            behind.insert(0, behind[0])
            continue
        begins = np.arange(there.low[device], there.high[device] + 1)
        last = np.searchsorted(there.begins[device], begins, side="right")
        known = (behind[0] + line.clock) / line.per_byte
        with_stage = _least(
            line.sent.table.T,
            known,
            begins,
            np.maximum(begins + 1, low),
            np.minimum(last, high + 1),
        )
        found = np.full(layers + 1, np.inf)
        found[begins] = np.minimum(
            behind[0][begins], with_stage * line.per_byte - line.clock[begins]
        )
        behind.insert(0, found)
    return behind


def _least(table: Array, known: Array, rows: Places, starts: Places, stops: Places) -> Array:
    """For each of these neighbouring rows the minimum of `table` + `known` in a column range.

    The ranges are `start` to `stop`; neither bound decreases from row to row. A row without columns
    gives infinity.
    """
    found = np.full(len(rows), np.inf)
    for first in range(0, len(rows), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        left, right = int(starts[some][0]), int(stops[some][-1])
        high, wide = len(rows[some]), right - left
        if wide <= 0:
            continue
        summed = np.full(high * wide + 1, np.inf)
        piece = table[rows[first] : rows[first] + high, left:right]
        np.add(piece, known[left:right], out=summed[:-1].reshape(high, wide))
        bounds = np.empty((high, 2), np.int64)
        bounds.T[:] = starts[some], stops[some]
        bounds += (np.arange(high) * wide - left)[:, None]
        found[some] = np.where(
            starts[some] < stops[some], np.minimum.reduceat(summed, bounds.ravel())[::2], np.inf
        )
    return found


def traced(lines: Sequence[DeviceStages], there: Frame, reached: Sequence[Array]) -> Partition:
    """Follow the least cost back, from the last device to the first, to its stages."""
    end, ends, longest = len(reached[0]) - 1, list[int](), 0.0
    for device, line in reversed(list(enumerate(lines))):
        ends.append(end)
        if reached[device][end] != reached[device + 1][end]:
            begins = slice(
                max(int(there.begins[device][end]), there.low[device]),
                min(end, there.high[device] + 1),
            )
            costs = (
                reached[device][begins]
                - line.clock[begins]
                + line.per_byte * line.sent.table[end, begins]
            )
            begin = begins.start + int(costs.argmin())
            longest = max(longest, line.seconds(begin, end))
            end = begin
    return Partition(tuple(reversed(ends)), float(reached[-1][-1]), longest)


def within(lines: Sequence[DeviceStages], longest: float) -> Partition | None:
    """The cheapest partition whose stages take at most `longest` seconds each.

    None if there is none.
    """
    there = frame(lines, longest)
    if there is None:
        return None
    reached = costs_before(lines, there)
    return traced(lines, there, reached) if np.isfinite(reached[-1][-1]) else None


def least_longest(clocks: Sequence[Array], firsts: Sequence[Places | None] = ()) -> float:
    """The smallest possible longest stage time: the linear partition problem, by bisection.

    PipeDream (Narayanan et al. 2019, section 3.1) minimises this alone. Stages that end with layer
    e - 1 begin from layer `firsts[d][e]` on; other reasons why a stage may not fit are not
    considered.
    """
    layers = len(clocks[0]) - 1
    ticks = [clock.tolist() for clock in clocks]
    lasts = [_lasts(first, layers) for first in firsts or [None] * len(clocks)]
    low, high = 0.0, max(clock[-1] for clock in ticks)
    for _ in range(HALVINGS):
        middle, end = (low + high) / 2, 0
        for clock, last in zip(ticks, lasts, strict=True):
            end = min(bisect_right(clock, clock[end] + middle) - 1, last[end])
        low, high = (low, middle) if end == layers else (middle, high)
    return float(high)


def _lasts(first: Places | None, layers: int) -> list[int]:
    """For each begin the furthest end."""
    if first is None:
        return [layers] * (layers + 1)
    found: list[int] = (np.searchsorted(first, np.arange(layers + 1), side="right") - 1).tolist()
    return found


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

    def where(self, kept: NDArray[np.bool_]) -> _Blocks:
        return _Blocks(self.begins[kept], self.ends[kept], self.seconds[kept], self.cost[kept])


@dataclass(frozen=True, slots=True)
class _Interval:
    """A range of T, and for each device the blocks of possibly better partitions.

    None if unrestricted.
    """

    low: float
    high: float
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
        alive = [
            np.flatnonzero(one + other + self.weight * low < limit)
            for one, other in zip(ahead, behind, strict=True)
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
