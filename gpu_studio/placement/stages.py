"""The cheapest stages for devices in a row, whose longest stage takes at most a time T.

For a given T the sum of the stages' costs is minimised by dynamic programming over (layer,
device), as the optimiser of Alpa does (Zheng et al. 2022, section 5.2, equations 2 to 4). A
device may be left without a stage. The later a stage ends, the later its earliest begin: so T
limits the layers between which each device's stage can begin and end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gpu_studio.placement.block_amounts import Mask, Places
from gpu_studio.placement.blocks import AT_ONCE
from gpu_studio.placement.work import Array

STRICTLY = 1 - 1e-12
"""A value below this share of another is smaller, allowing for rounding."""
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class SentBytes:
    """The bytes sent for each block, as a table (see `blocks`), and which blocks do not fit.

    Blocks that end with layer e - 1 and begin before layer `first[e]` never fit. Without `first`
    any block may fit. Of the others those that do not are `barred`.
    """

    table: Array
    first: Places | None = None
    barred: Mask | None = None

    def among(self, ends: Places, begins: Places) -> Array:
        """The bytes of all blocks of some ends and begins; infinite for those that are barred."""
        blocks = np.ix_(ends, begins)
        found = self.table[blocks]
        return found if self.barred is None else np.where(self.barred[blocks], np.inf, found)

    def turned(self) -> SentBytes:
        """The same with a row for each begin."""
        return SentBytes(self.table.T, None, None if self.barred is None else self.barred.T)


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
        sent = self.sent.among(np.array([end]), np.array([begin]))
        return self.seconds(begin, end) + self.per_byte * float(sent[0, 0])


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


Span = tuple[list[int], list[int]]
"""The first and the last layer at which each device can begin, and where the last one can end."""


def frame(begins: list[Places], span: Span | None = None) -> Frame | None:
    """Where stages can be that begin at these layers at the earliest, for each device and end.

    And within a span. None if they cannot cover all layers.
    """
    layers = len(begins[0]) - 1
    lowest, highest = span or ([0] * (len(begins) + 1), [layers] * (len(begins) + 1))
    high = [0]
    for each, most in zip(begins, highest[1:], strict=True):
        high.append(min(most, int(np.searchsorted(each, high[-1], side="right")) - 1))
    low = [layers]
    for each, least in zip(reversed(begins), reversed(lowest[:-1]), strict=True):
        low.append(max(least, int(each[low[-1]])))
    low.reverse()
    covers = all(one <= other for one, other in zip(low, high, strict=True))
    return Frame(begins, low, high) if covers else None


def costs_before(lines: Sequence[DeviceStages], there: Frame) -> list[Array]:
    """Entry [d][n] is the least cost of the first n layers on the devices before d."""
    layers = len(lines[0].clock) - 1
    reached = [np.append(0.0, np.full(layers, np.inf))]
    for device, line in enumerate(lines):
        low, high = there.low[device], there.high[device]
        if (
            device
            and line is lines[device - 1]
            and there.high[device + 1] == high
            and np.array_equal(reached[-1][low:], reached[-2][low:])
        ):
            reached.append(reached[-1])  # one more of the same kind changes nothing
            continue
        ends = np.arange(there.low[device + 1], there.high[device + 1] + 1)
        starts = np.maximum(there.begins[device][ends], low)
        known = (reached[-1] - line.clock) / line.per_byte
        with_stage = _least(line.sent, known, ends, starts, np.minimum(ends, high + 1))
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
        one_more = len(behind) > 1 and line is lines[device + 1] and there.low[device] == low
        if one_more and np.array_equal(behind[0][: high + 1], behind[1][: high + 1]):
            behind.insert(0, behind[0])
            continue
        begins = np.arange(there.low[device], there.high[device] + 1)
        last = np.searchsorted(there.begins[device], begins, side="right")
        known = (behind[0] + line.clock) / line.per_byte
        with_stage = _least(
            line.sent.turned(),
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


def _least(sent: SentBytes, known: Array, rows: Places, starts: Places, stops: Places) -> Array:
    """For each of these neighbouring rows the minimum of `sent` + `known` in a column range.

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
        summed = np.empty(high * wide + 1)
        summed[-1], of_blocks = np.inf, summed[:-1].reshape(high, wide)
        row = int(rows[first])
        piece = sent.table[row : row + high, left:right]
        np.add(piece, known[left:right], out=of_blocks)
        if sent.barred is not None:
            np.copyto(of_blocks, np.inf, where=sent.barred[row : row + high, left:right])
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
            sent = line.sent.among(np.array([end]), np.arange(begins.start, begins.stop))[0]
            costs = reached[device][begins] - line.clock[begins] + line.per_byte * sent
            begin = begins.start + int(costs.argmin())
            longest = max(longest, line.seconds(begin, end))
            end = begin
    return Partition(tuple(reversed(ends)), float(reached[-1][-1]), longest)


def within(lines: Sequence[DeviceStages], longest: float) -> Partition | None:
    """The cheapest partition whose stages take at most `longest` seconds each.

    None if there is none.
    """
    there = frame([line.begins(longest) for line in lines])
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
