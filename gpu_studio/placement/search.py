"""Place for me: where the layers of a model go, by what is wanted of the placement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpu_studio.placement.blocks import incoming_of, sums
from gpu_studio.placement.partition import Partition, Tables, least_longest, minimise, within
from gpu_studio.placement.work import Array, Device, Work

Objective = Literal["fastest", "least_memory", "fewest_transfers"]
Fits = NDArray[np.bool_]
OBJECTIVES: tuple[Objective, ...] = ("fastest", "least_memory", "fewest_transfers")
ROUNDING = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Found:
    """A placement: for each layer the place of its device, how many micro-batches, and what a step is to take.

    `seconds` leaves out what is the same wherever the layers go. No placement of contiguous stages on these devices in
    this order takes less than `bound` seconds with so many micro-batches.
    """

    devices: tuple[int, ...]
    micro_batches: int
    seconds: float
    bound: float


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
) -> Found | tuple[Lack, ...]:
    """The best placement for the objective, with the best of the micro-batch numbers; what is lacking if there is none.

    `fastest` is the least time of a step; `least_memory` the least share of its limit (the fewest bytes where no device
    has one) on the device that is fullest; `fewest_transfers` the fewest bytes sent. Of placements that are as good by
    that, it is the fastest. Without `overlap` only one device works at a time, as where logical CPUs share the cores.
    Raises ValueError if there is no layer or no device.
    """
    if not work.names or not devices:
        raise ValueError(
            f"{len(work.names)} layers cannot be placed on {len(devices)} devices: give at least one of both."
        )
    entering = incoming_of(work)
    held = sums(work.held_bytes) + entering / 2
    room: list[Fits] = [held <= _limit(device) for device in devices]
    if objective == "least_memory":
        room = _least_room(held, devices, room)
    sent = entering if objective == "fewest_transfers" else None
    every = (_best(_tables(work, devices, entering, room, count), sent, count, overlap) for count in micro_batches)
    found = min((each for each in every if each), key=lambda each: each.seconds, default=None)
    return found or lacking(held, devices)


def lacking(held: Array, devices: Sequence[Device]) -> tuple[Lack, ...]:
    """Which devices lack how much, placed so that as few bytes as can be are lacking in all."""
    blocks, exists = _finite(held)
    over = [np.where(exists, np.maximum(blocks - _limit(device), 0.0), np.inf) for device in devices]
    partition = within(Tables([np.zeros_like(held)] * len(devices), over), np.inf)
    if partition is None:
        return ()
    stages = _stages(partition)
    lacks = ((devices[place].name, float(over[place][block])) for place, block in stages)
    return tuple(Lack(name, missing) for name, missing in lacks if missing > 0)


def _limit(device: Device) -> float:
    return np.inf if device.limit is None else device.limit


def _tables(work: Work, devices: Sequence[Device], entering: Array, room: Sequence[Fits], count: int) -> Tables:
    seconds, (sent, exists) = _of_each(work.seconds(count)), _finite(entering)
    cost = [
        np.where(fits & exists, took + sent / (device.bandwidth * count), np.inf)
        for took, fits, device in zip(seconds, room, devices, strict=True)
    ]
    return Tables(seconds, cost)


def _of_each(seconds: Array) -> list[Array]:
    """The time of every block on each device; devices of one speed share a table."""
    rows = [row.tobytes() for row in seconds]
    made = {key: sums(row) for key, row in zip(rows, seconds, strict=True)}
    return [made[key] for key in rows]


def _best(tables: Tables, sent: Array | None, count: int, overlap: bool) -> Found | None:
    # One after the other, all micro-batches take what one takes, so many times; then only the sum counts.
    stages = count if overlap else 1
    if sent is None:
        partition = minimise(tables, stages)
        return None if partition is None else _found(partition, tables, count, stages)
    # So little of the time is added to the bytes that it only decides between placements that send as many.
    little = 0.5 / max(1e-12, count * sum(float(each[-1, -1]) for each in tables.seconds))
    both = Tables([each * little for each in tables.seconds], [sent + each * little for each in tables.cost])
    partition = minimise(both, stages)
    return None if partition is None else _found(replace(partition, bound=0.0), tables, count, stages)


def _found(partition: Partition, tables: Tables, count: int, stages: int) -> Found:
    taken = _stages(partition)
    longest = max(float(tables.seconds[place][block]) for place, block in taken)
    cost = sum(float(tables.cost[place][block]) for place, block in taken)
    rounds = count // stages
    return Found(_dealt(partition), count, rounds * (cost + (stages - 1) * longest), rounds * partition.bound)


def _least_room(held: Array, devices: Sequence[Device], room: Sequence[Fits]) -> list[Fits]:
    """The blocks that leave the fullest device as empty as can be."""
    limited = any(device.limit is not None for device in devices)
    shares = [_share(held, max(_limit(device), 1.0) if limited else 1.0) for device in devices]
    costs = [np.where(fits, share, np.inf) for fits, share in zip(room, shares, strict=True)]
    fullest = least_longest(Tables(shares, costs))
    return [fits & (share <= fullest * ROUNDING) for fits, share in zip(room, shares, strict=True)]


def _share(held: Array, whole: float) -> Array:
    blocks, exists = _finite(held)
    return np.where(exists, blocks / whole, np.inf)


def _finite(table: Array) -> tuple[Array, Fits]:
    """A table with 0 where there is no block, and where there is one: infinities cannot be divided by one another."""
    exists = np.isfinite(table)
    return np.where(exists, table, 0.0), exists


def _stages(partition: Partition) -> list[tuple[int, tuple[int, int]]]:
    """The place of each device that has a stage, and where in a table the stage's block stands."""
    begins = (0, *partition.ends)
    spans = enumerate(zip(begins, partition.ends, strict=False))
    return [(place, (end - 1, end - begin - 1)) for place, (begin, end) in spans if end > begin]


def _dealt(partition: Partition) -> tuple[int, ...]:
    begins = (0, *partition.ends)
    return tuple(place for place, end in enumerate(partition.ends) for _ in range(end - begins[place]))
