"""Place for me: where the layers of a model go, by what is wanted of the placement."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from gpu_studio.placement.blocks import before, entering
from gpu_studio.placement.holding import Holding
from gpu_studio.placement.partition import minimise
from gpu_studio.placement.room import Room
from gpu_studio.placement.stage_memory import at_once
from gpu_studio.placement.stages import Line, Partition, Sent
from gpu_studio.placement.work import Array, Device, Work, recomputing

Objective = Literal["fastest", "least_memory", "fewest_transfers"]
OBJECTIVES: tuple[Objective, ...] = ("fastest", "least_memory", "fewest_transfers")
ROUNDING = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Found:
    """A placement: for each layer the place of its device, how many micro-batches, and what a step is to take.

    `seconds` leaves out what is the same wherever the layers go.
    """

    devices: tuple[int, ...]
    micro_batches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Lack:
    """There is no room: with the least that must be lacking, `device` lacks `missing` bytes."""

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
) -> Found | tuple[Lack, ...]:
    """The best placement for the objective, with the best of the micro-batch numbers; what is lacking if there is none.

    Only placements are looked at in which each device has one stretch of layers: a pipeline's stages in a row. One that
    comes back to a device may take less time.
    Without `overlap` only one device works at a time, as where logical CPUs share the cores. With `recompute` stages
    keep only what enters them, and go forward twice. Raises ValueError if there is no layer or no device.
    """
    found = placements(work, devices, objective, micro_batches, overlap=overlap, recompute=recompute)
    return found if isinstance(found, tuple) else min(found, key=lambda each: each.seconds)


def placements(
    work: Work,
    devices: Sequence[Device],
    objective: Objective,
    micro_batches: Iterable[int],
    *,
    overlap: bool = True,
    recompute: bool = False,
) -> list[Found] | tuple[Lack, ...]:
    """The best placement for the objective with each number of micro-batches that there is room for.

    If there is for none: what is lacking at least. `fastest` is the least time of a step; `least_memory` the least
    share of its limit (the fewest bytes where no device has one) on the device that is fullest; `fewest_transfers` the
    fewest bytes sent. Of placements that are as good by that, it is the fastest. The rest as `place` says.
    """
    if not work.names or not devices:
        raise ValueError(
            f"{len(work.names)} layers cannot be placed on {len(devices)} devices: give at least one of both."
        )
    model = _Model(work, devices, objective, overlap, recompute)
    found: list[Found] = []
    steps = [_Step(model, count) for count in micro_batches]
    for step in steps:
        best = step.placed(found[-1].devices if found else None)
        found += [best] if best else []
    return found or min((step.lacks() for step in steps), key=lambda lacks: sum(lack.missing for lack in lacks))


@dataclass(frozen=True)
class _Model:
    """What is asked for, and what is the same however many micro-batches there are."""

    work: Work
    devices: Sequence[Device]
    objective: Objective
    overlap: bool
    recompute: bool

    @cached_property
    def timed(self) -> Work:
        """The work with the times that it really takes."""
        return recomputing(self.work) if self.recompute else self.work

    @cached_property
    def holding(self) -> Holding:
        """What blocks hold."""
        # Logical CPUs, whose cores can ask for more at once, have no limits.
        under_way = at_once(len(self.devices))
        return Holding(self.work, entering(self.work, self.work.output_bytes), under_way, self.recompute)

    @cached_property
    def sent(self) -> Sent:
        """The bytes a sample that enter each block, and those of the gradients that go back."""
        return Sent(entering(self.work, self.work.sent_bytes))

    @cached_property
    def free(self) -> Sent:
        """No bytes, where sending them takes no time."""
        return Sent(np.zeros_like(self.sent.table))


@dataclass(frozen=True)
class _Step:
    """A step in `count` micro-batches, of which several devices work at one time if they overlap."""

    model: _Model
    count: int

    @property
    def stages(self) -> int:
        """The M of the pipeline; one after the other, all micro-batches take what one takes, so many times."""
        return self.count if self.model.overlap else 1

    @property
    def room(self) -> Room:
        return Room(self.model.devices, self.model.holding, self.count)

    def placed(self, known: Sequence[int] | None) -> Found | None:
        """The best placement; one `known` with another number of micro-batches may be near the best."""
        lines = self._lines()
        partition = minimise(lines, self.stages, None if known is None else _ends(known, len(lines)))
        return None if partition is None else self._found(partition)

    def lacks(self) -> tuple[Lack, ...]:
        """Which devices lack how much, placed so that as few bytes as can be are lacking in all."""
        return tuple(Lack(self.model.devices[device].name, missing) for device, missing in self.room.lacking())

    def _found(self, partition: Partition) -> Found:
        model, rounds = self.model, self.count // self.stages
        stages = zip(self.clocks, model.devices, pairwise((0, *partition.ends)), strict=True)
        taken, cost = [0.0], 0.0
        for clock, device, (begin, end) in stages:
            taken.append(float(clock[end] - clock[begin]))
            sent = float(model.sent.table[end, begin]) * model.work.batch
            cost += taken[-1] + sent / (device.bandwidth * self.count)
        seconds = rounds * (cost + (self.stages - 1) * max(taken))
        return Found(_dealt(partition), self.count, seconds)

    @cached_property
    def clocks(self) -> list[Array]:
        """Of each device the time of the layers before each, for one micro-batch; those of one speed share it."""
        rows = self.model.timed.seconds(self.count)
        made = {row.tobytes(): before(row) for row in rows}
        return [made[row.tobytes()] for row in rows]

    def _lines(self) -> list[Line]:
        """What stages cost on each device."""
        model = self.model
        batch, limits = model.work.batch, self._limits()
        byte_seconds = self._byte_seconds() if model.objective == "fewest_transfers" else 0.0
        costs = [batch * (1 / (device.bandwidth * self.count) + byte_seconds) for device in model.devices]
        tables = [model.sent if cost else model.free for cost in costs]
        if any(limit is not None for limit in limits):
            tables = self.room.allowed(tables, limits)
        made: dict[tuple[int, int, float], Line] = {}
        for clock, table, cost in zip(self.clocks, tables, costs, strict=True):
            made.setdefault((id(clock), id(table), cost), Line(clock, table, cost or 1.0))
        return [made[id(clock), id(table), cost] for clock, table, cost in zip(self.clocks, tables, costs, strict=True)]

    def _byte_seconds(self) -> float:
        """What each byte is taken to cost, so that time decides only between placements that send as many.

        It is no more than that needs: sums of bytes and of time that are too unlike lose the time to rounding. Bytes
        differ by a unit at least, and steps by no more than all the work in turn, and what slower links take longer.
        """
        model = self.model
        sizes = model.work.sent_bytes
        unit = int(np.gcd.reduce(sizes.astype(np.int64))) or 1
        links = [1 / device.bandwidth for device in model.devices]
        slower = float(sizes.sum()) * len(links) * model.work.batch * (max(links) - min(links)) / self.count
        work = self.count * max(float(clock[-1]) for clock in self.clocks)
        return 2 * max(1e-12, work + slower) / (unit * model.work.batch)

    def _limits(self) -> list[float | None]:
        """The devices' limits; for `least_memory` those that leave the fullest as empty as can be."""
        limits = [device.limit for device in self.model.devices]
        if self.model.objective != "least_memory":
            return limits
        wholes = [None if limit is None else max(limit, 1.0) for limit in limits]
        if all(whole is None for whole in wholes):
            wholes = [1.0] * len(wholes)
        fullest = self.room.least_fullest(wholes) * ROUNDING
        least = [None if whole is None else whole * fullest for whole in wholes]
        return [
            some if limit is None or some is None else min(limit, some)
            for some, limit in zip(least, limits, strict=True)
        ]


def _ends(placement: Sequence[int], devices: int) -> tuple[int, ...]:
    """Up to which layer each device has them, in a placement of stages one behind the other."""
    return tuple(bisect_right(placement, device) for device in range(devices))


def _dealt(partition: Partition) -> tuple[int, ...]:
    begins = (0, *partition.ends)
    return tuple(place for place, end in enumerate(partition.ends) for _ in range(end - begins[place]))
