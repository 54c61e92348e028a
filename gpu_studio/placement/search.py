"""Find where the layers of a model go, for an objective and a number of micro-batches.

Only blocks of layers that fit on their device count; if none do, the search says how much
memory is lacking.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from gpu_studio.placement.block_fit import BlockFit
from gpu_studio.placement.block_memory import BlockMemory
from gpu_studio.placement.blocks import before, entering
from gpu_studio.placement.longest_stage import least_total
from gpu_studio.placement.stage_memory import at_once
from gpu_studio.placement.stages import (
    STRICTLY,
    DeviceStages,
    Partition,
    SentBytes,
    least_longest,
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
        return BlockMemory(self.work, under_way, self.recompute)

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

    @cached_property
    def fit(self) -> BlockFit:
        """What fits on the devices."""
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
