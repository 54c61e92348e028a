"""Place for me: where the layers of a model go, by what is wanted of the placement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpu_studio.placement.blocks import incoming_of, sums
from gpu_studio.placement.holding import Holding
from gpu_studio.placement.partition import minimise
from gpu_studio.placement.stages import Partition, Tables, least_longest, within
from gpu_studio.placement.work import Array, Device, Work, is_copied_to, recomputing

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

    `fastest` is the least time of a step; `least_memory` the least share of its limit (the fewest bytes where no device
    has one) on the device that is fullest; `fewest_transfers` the fewest bytes sent. Of placements that are as good by
    that, it is the fastest. Without `overlap` only one device works at a time, as where logical CPUs share the cores.
    With `recompute` stages keep only what enters them, and go forward twice. Raises ValueError if there is no layer or
    no device.
    """
    if not work.names or not devices:
        raise ValueError(
            f"{len(work.names)} layers cannot be placed on {len(devices)} devices: give at least one of both."
        )
    holding = Holding(work, incoming_of(work), recompute)
    timed = recomputing(work) if recompute else work
    matters = objective == "least_memory" or any(device.limit is not None for device in devices)
    lacks: list[tuple[Lack, ...]] = []
    found: list[Found] = []
    for count in micro_batches:
        step = _Step(
            timed, devices, holding.entering, holding.bytes_on(devices, count) if matters else None, count, overlap
        )
        best = step.placed(objective)
        if best is None:
            lacks.append(step.lacks())
        else:
            found.append(best)
    return min(found, key=lambda each: each.seconds) if found else least_lacking(lacks)


def least_lacking(ways: Iterable[tuple[Lack, ...]]) -> tuple[Lack, ...]:
    """Of what is lacking in several ways the least in all."""
    return min(ways, key=lambda lacks: sum(lack.missing for lack in lacks))


@dataclass(frozen=True, slots=True)
class _Step:
    """A step in `count` micro-batches, of which several devices work at one time if they overlap.

    `entering` is in bytes a sample; `held` on each device, None where that does not matter.
    """

    work: Work
    devices: Sequence[Device]
    entering: Array
    held: Sequence[Array] | None
    count: int
    overlap: bool

    @property
    def stages(self) -> int:
        """The M of the pipeline; one after the other, all micro-batches take what one takes, so many times."""
        return self.count if self.overlap else 1

    def placed(self, objective: Objective) -> Found | None:
        """The best placement for the objective."""
        limits = [device.limit for device in self.devices]
        if objective == "least_memory":
            limits = self._least_limits()
        seconds = _of_each(self.work.seconds(self.count))
        # A byte is taken to cost more time than there is at all, so that time decides only between those that send as
        # many.
        whole = sum(float(each[-1, -1]) for each in seconds)
        byte_seconds = 2 * max(1e-12, self.count * whole) if objective == "fewest_transfers" else 0.0
        partition = minimise(Tables(seconds, self._costs(seconds, limits, byte_seconds)), self.stages)
        return None if partition is None else self._found(partition, seconds)

    def lacks(self) -> tuple[Lack, ...]:
        """Which devices lack how much, placed so that as few bytes as can be are lacking in all."""
        over = [_over(held, device.limit) for held, device in zip(self.held or (), self.devices, strict=True)]
        partition = within(Tables([np.zeros_like(each) for each in over], over), np.inf)
        stages = _stages(partition) if partition else []
        lacks = ((self.devices[place].name, float(over[place][block])) for place, block in stages)
        return tuple(Lack(name, missing) for name, missing in lacks if missing > 0)

    def _costs(self, seconds: Sequence[Array], limits: Sequence[float | None], byte_seconds: float) -> list[Array]:
        """What each block costs on each device; what depends only on limit and link is made once for those alike."""
        exists = np.isfinite(self.entering)
        sent = np.where(exists, self.entering, 0.0) * self._ways
        made: dict[tuple[object, ...], Array] = {}
        costs = []
        for place, (device, limit) in enumerate(zip(self.devices, limits, strict=True)):
            key = (limit, device.bandwidth, is_copied_to(device.name))
            if key not in made:
                fits = exists if limit is None or self.held is None else self.held[place] <= limit
                made[key] = np.where(fits, sent * (1 / (device.bandwidth * self.count) + byte_seconds), np.inf)
            costs.append(seconds[place] + made[key])
        return costs

    @property
    def _ways(self) -> int:
        """How often what enters of a sample is sent in a step: each tensor of the batch, and its gradient back."""
        return 2 * self.work.batch

    def _least_limits(self) -> list[float | None]:
        """Limits that leave the fullest device as empty as can be."""
        limits = [device.limit for device in self.devices]
        wholes = [None if limit is None else max(limit, 1.0) for limit in limits]
        if all(whole is None for whole in wholes):
            wholes = [1.0] * len(wholes)
        shares = [_share(each, whole) for each, whole in zip(self.held or (), wholes, strict=True)]
        fullest = least_longest(Tables(shares, shares)) * ROUNDING
        least = [None if whole is None else whole * fullest for whole in wholes]
        return [
            some if limit is None or some is None else min(limit, some)
            for some, limit in zip(least, limits, strict=True)
        ]

    def _found(self, partition: Partition, seconds: Sequence[Array]) -> Found:
        taken = [float(seconds[place][block]) for place, block in _stages(partition)]
        cost = sum(taken) + sum(
            float(self.entering[block]) * self._ways / (self.devices[place].bandwidth * self.count)
            for place, block in _stages(partition)
        )
        rounds = self.count // self.stages
        return Found(_dealt(partition), self.count, rounds * (cost + (self.stages - 1) * max(taken)))


def _of_each(seconds: Array) -> list[Array]:
    """The time of every block on each device; devices of one speed share a table."""
    rows = [row.tobytes() for row in seconds]
    made = {key: sums(row) for key, row in zip(rows, seconds, strict=True)}
    return [made[key] for key in rows]


def _over(held: Array, limit: float | None) -> Array:
    """What each block lacks."""
    return np.where(np.isfinite(held), 0.0, np.inf) if limit is None else np.maximum(held - limit, 0.0)


def _share(held: Array, whole: float | None) -> Array:
    """The share of `whole` that each block is; nothing of what has no limit."""
    return np.where(np.isfinite(held), 0.0, np.inf) if whole is None else held / whole


def _stages(partition: Partition) -> list[tuple[int, tuple[int, int]]]:
    """The place of each device that has a stage, and where in a table the stage's block stands."""
    begins = (0, *partition.ends)
    spans = enumerate(zip(begins, partition.ends, strict=False))
    return [(place, (end - 1, end - begin - 1)) for place, (begin, end) in spans if end > begin]


def _dealt(partition: Partition) -> tuple[int, ...]:
    begins = (0, *partition.ends)
    return tuple(place for place, end in enumerate(partition.ends) for _ in range(end - begins[place]))
