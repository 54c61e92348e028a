"""Find where the layers of a model go, for an objective and a number of micro-batches.

Only blocks of layers that fit on their device count; if none do, the search says how much
memory is lacking.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from gpu_studio.placement.blocks import BlockMemory, before, entering, pieces
from gpu_studio.placement.stage_memory import at_once, turns_at_once
from gpu_studio.placement.stages import (
    STRICTLY,
    DeviceStages,
    Partition,
    Places,
    SentBytes,
    least_longest,
    least_total,
    partition_of,
    within,
)
from gpu_studio.placement.work import Array, Device, Work, recomputing


def minimise(
    lines: Sequence[DeviceStages], micro_batches: int, known: tuple[int, ...] | None = None
) -> Partition | None:
    """The best partition; None if none fits.

    The one with the ends `known` may be close to the best.
    """
    loosest = within(lines, np.inf)
    if loosest is None or micro_batches == 1:
        return loosest
    floor = least_longest([line.clock for line in lines], [line.sent.first for line in lines])
    some = [loosest, within(lines, floor / STRICTLY)]
    if known is not None:
        some.append(partition_of(lines, known))
    best = min(
        (each for each in some if each is not None), key=lambda each: each.total(micro_batches)
    )
    # None costs less than the loosest: one with a longer stage than this cannot be better.
    high = (best.total(micro_batches) - loosest.cost) / (micro_batches - 1)
    low = floor * STRICTLY
    return best if high < low else least_total(lines, micro_batches, best, low, high)


Objective = Literal["fastest", "least_memory", "fewest_transfers"]
OBJECTIVES: tuple[Objective, ...] = ("fastest", "least_memory", "fewest_transfers")
ROUNDING = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class FoundPlacement:
    """A placement: the device index of each layer, the micro-batches, and the predicted time.

    `seconds` leaves out what is the same for every placement.
    """

    devices: tuple[int, ...]
    micro_batches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Lack:
    """Nothing fits: in the placement that lacks the least, `device` lacks `missing` bytes."""

    device: str
    missing: float


def place(
    work: Work,
    devices: Sequence[Device],
    objective: Objective,
    micro_batches: Iterable[int],
    *,
    overlap: bool = True,
    recompute: bool = False,
) -> FoundPlacement | tuple[Lack, ...]:
    """The best placement for the objective over the micro-batch numbers, or what memory is lacking.

    Only placements in which each device has one contiguous range of layers are considered: a
    pipeline's stages in a row. One that returns to a device may be faster. Without `overlap` only
    one device works at a time, as when logical CPUs share the cores. With `recompute` stages keep
    only their inputs and run forward twice. Raises ValueError if there is no layer or no device.
    """
    found = placements(
        work, devices, objective, micro_batches, overlap=overlap, recompute=recompute
    )
    return found if isinstance(found, tuple) else min(found, key=lambda each: each.seconds)


def placements(
    work: Work,
    devices: Sequence[Device],
    objective: Objective,
    micro_batches: Iterable[int],
    *,
    overlap: bool = True,
    recompute: bool = False,
) -> list[FoundPlacement] | tuple[Lack, ...]:
    """The best placement for the objective for each number of micro-batches that fits.

    If none fits: the least memory that is lacking. `fastest` is the shortest step; `least_memory`
    the smallest share of its limit (the fewest bytes if no device has one) on the fullest device;
    `fewest_transfers` the fewest bytes sent. Ties go to the fastest. The rest as in `place`.
    """
    if not work.names or not devices:
        raise ValueError(
            f"{len(work.names)} layers cannot be placed on {len(devices)} "
            "devices: give at least one of both."
        )
    model = _Model(work, devices, objective, overlap, recompute)
    found: list[FoundPlacement] = []
    steps = [_Step(model, count) for count in micro_batches]
    for step in steps:
        best = step.placed(found[-1].devices if found else None)
        found += [best] if best else []
    return found or min(
        (step.lacks() for step in steps), key=lambda lacks: sum(lack.missing for lack in lacks)
    )


@dataclass(frozen=True)
class _Model:
    """The request, and all that does not depend on the number of micro-batches."""

    work: Work
    devices: Sequence[Device]
    objective: Objective
    overlap: bool
    recompute: bool

    @cached_property
    def timed(self) -> Work:
        """The work with its real times."""
        return recomputing(self.work) if self.recompute else self.work

    @cached_property
    def block_memory(self) -> BlockMemory:
        """The memory of blocks."""
        # Logical CPUs, which may run more at once, have no limits.
        under_way = at_once(len(self.devices))
        return BlockMemory.of(self.work, under_way, recompute=self.recompute)

    @cached_property
    def sent(self) -> SentBytes:
        """The bytes per sample that enter each block, and those of the gradients sent back."""
        return SentBytes(entering(self.work, self.work.sent_bytes))

    @cached_property
    def free(self) -> SentBytes:
        """Zero bytes, for links on which sending takes no time."""
        return SentBytes(np.zeros_like(self.sent.table))


@dataclass(frozen=True)
class _Step:
    """A step in `count` micro-batches; several devices work at once if they overlap."""

    model: _Model
    count: int

    @property
    def stages(self) -> int:
        """The M of the pipeline. Without overlap it is 1: every micro-batch costs the same."""
        return self.count if self.model.overlap else 1

    @property
    def fit(self) -> BlockFit:
        return BlockFit(self.model.devices, self.model.block_memory, self.count)

    def placed(self, known: Sequence[int] | None) -> FoundPlacement | None:
        """The best placement; the `known` one for another number of micro-batches may be close."""
        lines = self._lines()
        partition = minimise(
            lines, self.stages, None if known is None else _ends(known, len(lines))
        )
        return None if partition is None else self._found(partition)

    def lacks(self) -> tuple[Lack, ...]:
        """The devices that lack memory, and how much, if as little as possible is lacking."""
        return tuple(
            Lack(self.model.devices[device].name, missing) for device, missing in self.fit.lacking()
        )

    def _found(self, partition: Partition) -> FoundPlacement:
        model, rounds = self.model, self.count // self.stages
        stages = zip(self.clocks, model.devices, pairwise((0, *partition.ends)), strict=True)
        taken, cost = [0.0], 0.0
        for clock, device, (begin, end) in stages:
            taken.append(float(clock[end] - clock[begin]))
            sent = float(model.sent.table[end, begin]) * model.work.batch
            cost += taken[-1] + sent / (device.bandwidth * self.count)
        seconds = rounds * (cost + (self.stages - 1) * max(taken))
        return FoundPlacement(_dealt(partition), self.count, seconds)

    @cached_property
    def clocks(self) -> list[Array]:
        """For each device the time before each layer, for one micro-batch.

        Equal devices share one array.
        """
        rows = self.model.timed.seconds(self.count)
        made = {row.tobytes(): before(row) for row in rows}
        return [made[row.tobytes()] for row in rows]

    def _lines(self) -> list[DeviceStages]:
        """The costs of stages on each device."""
        model = self.model
        batch, limits = model.work.batch, self._limits()
        byte_seconds = self._byte_seconds() if model.objective == "fewest_transfers" else 0.0
        costs = [
            batch * (1 / (device.bandwidth * self.count) + byte_seconds) for device in model.devices
        ]
        tables = [model.sent if cost else model.free for cost in costs]
        if any(limit is not None for limit in limits):
            tables = self.fit.allowed(tables, limits)
        made: dict[tuple[int, int, float], DeviceStages] = {}
        for clock, table, cost in zip(self.clocks, tables, costs, strict=True):
            made.setdefault((id(clock), id(table), cost), DeviceStages(clock, table, cost or 1.0))
        return [
            made[id(clock), id(table), cost]
            for clock, table, cost in zip(self.clocks, tables, costs, strict=True)
        ]

    def _byte_seconds(self) -> float:
        """The assumed cost of a byte, such that time only breaks ties between equal bytes.

        It is no larger than necessary: if the sums of bytes and of time are too different in size,
        the time is lost to rounding. Bytes differ by at least one unit, and steps by at most all
        work in sequence plus what slower links add.
        """
        model = self.model
        sizes = model.work.sent_bytes
        unit = int(np.gcd.reduce(sizes.astype(np.int64))) or 1
        links = [1 / device.bandwidth for device in model.devices]
        slower = (
            float(sizes.sum())
            * len(links)
            * model.work.batch
            * (max(links) - min(links))
            / self.count
        )
        work = self.count * max(float(clock[-1]) for clock in self.clocks)
        return 2 * max(1e-12, work + slower) / (unit * model.work.batch)

    def _limits(self) -> list[float | None]:
        """The devices' limits; for `least_memory` those that keep the fullest emptiest."""
        limits = [device.limit for device in self.model.devices]
        if self.model.objective != "least_memory":
            return limits
        wholes = [None if limit is None else max(limit, 1.0) for limit in limits]
        if all(whole is None for whole in wholes):
            wholes = [1.0] * len(wholes)
        fullest = self.fit.least_fullest(wholes) * ROUNDING
        least = [None if whole is None else whole * fullest for whole in wholes]
        return [
            some if limit is None or some is None else min(limit, some)
            for some, limit in zip(least, limits, strict=True)
        ]


def _ends(placement: Sequence[int], devices: int) -> tuple[int, ...]:
    """The last layer's end on each device, in a placement of stages in a row."""
    return tuple(bisect_right(placement, device) for device in range(devices))


def _dealt(partition: Partition) -> tuple[int, ...]:
    begins = (0, *partition.ends)
    return tuple(
        place for place, end in enumerate(partition.ends) for _ in range(end - begins[place])
    )


ABOVE_LEAST = 1.3
"""The share to try first, relative to the lower bound by what layers hold in any placement."""
_ROUNDING_OF_SUMS = 1e-12

Join = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class BlockFit:
    """The memory limits of the devices, and the memory of blocks on them."""

    devices: Sequence[Device]
    block_memory: BlockMemory
    micro_batches: int

    @cached_property
    def turns(self) -> list[int]:
        """How many micro-batches each card holds at once if all that follow it are used.

        0 for a CPU.
        """
        turns = turns_at_once([[device.name] for device in self.devices])
        return [min(self.micro_batches, turns.get(device.name, 0)) for device in self.devices]

    def first(self, limit: float | None) -> Places:
        """For each end the earliest begin of a block that may fit within a limit."""
        least = self.block_memory.at_least(self.micro_batches)
        if limit is None:
            return np.zeros(len(least), np.int64)
        found: Places = np.searchsorted(least, least - limit - _ROUNDING_OF_SUMS * least[-1])
        return found

    def allowed(self, sent: Sequence[SentBytes], limits: Sequence[float | None]) -> list[SentBytes]:
        """For each device the bytes sent to each block; infinite if it exceeds the limit."""
        kinds = [
            None if limit is None else (id(table), turns, limit)
            for table, turns, limit in zip(sent, self.turns, limits, strict=True)
        ]
        tables = {kind: table for kind, table in zip(kinds, sent, strict=True) if kind}
        made = {
            kind: SentBytes(np.zeros(table.table.shape), self.first(kind[2]))
            for kind, table in tables.items()
        }
        for ends, begin, held in self._pieces(max(limit for _, _, limit in made)) if made else ():
            here = slice(ends.start, ends.stop), slice(begin, ends.stop)
            for kind, table in tables.items():
                made[kind].table[here] = np.where(
                    held[kind[1]] <= kind[2], table.table[here], np.inf
                )
        return [made[kind] if kind else table for kind, table in zip(kinds, sent, strict=True)]

    def least_fullest(self, wholes: Sequence[float | None]) -> float:
        """The smallest possible fill of the fullest device, as a share of its whole.

        Unlimited devices are never full.
        """
        least = self.block_memory.at_least(self.micro_batches)
        known = ABOVE_LEAST * least_longest(
            [least / whole if whole else 0 * least for whole in wholes]
        )
        while (found := self._least_fullest(wholes, known)) > known:
            known = found if np.isfinite(found) or not known else 2 * known
        return found

    def _least_fullest(self, wholes: Sequence[float | None], known: float) -> float:
        """The same if it is at most `known`; otherwise an attainable share, or infinite."""
        most = None if None in wholes else known * max(whole for whole in wholes if whole)

        def share(device: int, held: Array) -> Array:
            whole = wholes[device]
            return np.where(np.isfinite(held), 0.0, np.inf) if whole is None else held / whole

        return float(self._reached(share, np.maximum, most)[-1][-1])

    def lacking(self) -> list[tuple[int, float]]:
        """The devices that lack memory, and how many bytes, if as little as possible is lacking."""
        reached = self._reached(self._over, np.add)
        end, found = len(reached[0]) - 1, []
        for device in reversed(range(len(self.devices))):
            held = self._held(range(end, end + 1), 0)[self.turns[device]]
            over = self._over(device, held[0])
            begin = int((reached[device][: end + 1] + over).argmin())
            if over[begin] > 0:
                found.append((device, float(over[begin])))
            end = begin
        return found[::-1]

    def _over(self, device: int, held: Array) -> Array:
        """The bytes that blocks lack on a device."""
        limit = self.devices[device].limit
        return (
            np.where(np.isfinite(held), 0.0, np.inf)
            if limit is None
            else np.maximum(held - limit, 0.0)
        )

    def _reached(
        self, value: Callable[[int, Array], Array], join: Join, most: float | None = None
    ) -> list[Array]:
        """Entry [d][n] is the least value of placing the first n layers on the devices before d.

        A stage contributes its `value` on the device, combined with the others by `join`. Blocks
        that hold more than `most` are not needed.
        """
        layers = len(self.block_memory.work.names)
        reached = [np.append(0.0, np.full(layers, np.inf))]
        reached += [np.full(layers + 1, np.inf) for _ in self.devices]
        for ends, begin, held in self._pieces(most):
            for device, turns in enumerate(self.turns):
                stages = value(device, held[turns])
                known = reached[device][begin : ends.stop]
                reached[device + 1][ends.start : ends.stop] = join(known, stages).min(axis=1)
        return reached

    def _pieces(self, most: float | None) -> Iterator[tuple[range, int, dict[int, Array]]]:
        """Yield pieces of the blocks that hold at most `most`: ends, first begin, and memory."""
        first = self.first(most)
        for ends in pieces(len(self.block_memory.work.names)):
            begin = int(first[ends.start])
            yield ends, begin, self._held(ends, begin)

    def _held(self, ends: range, begin: int) -> dict[int, Array]:
        """The memory of blocks by the devices' turns; infinite where there is no block."""
        held = {
            turns: self.block_memory.piece(self.micro_batches, ends, begin, turns=turns)
            for turns in set(self.turns)
        }
        nowhere = np.arange(begin, ends.stop) > np.array(ends)[:, None]
        for each in held.values():
            each[nowhere] = np.inf
        return held
