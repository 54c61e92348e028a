"""The logical devices of a plan as places for layers: what fits there, and how many of them work at one time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gpu_studio.placement.work import Device
from gpu_studio.plan import MIB, LogicalDevice, Machine, Plan, logical_devices
from gpu_studio.plan.card_memory import rooms
from gpu_studio.plan.logical import default_devices

THREADS = "TF_NUM_INTRAOP_THREADS"
"""TensorFlow's variable for how many threads an operation on a CPU has."""


def threads_per_operation(environ: Mapping[str, str]) -> int:
    """The threads that an operation on a CPU has in this environment; 0: TensorFlow takes one for each core."""
    text = environ.get(THREADS, "")
    return int(text) if text.isdecimal() else 0


def chosen_devices(plan: Plan, machine: Machine) -> tuple[LogicalDevice, ...]:
    """The logical devices that the plan spreads over: those it names, else all GPUs, or all CPUs without a GPU."""
    logical = logical_devices(plan, machine)
    names = plan.distribution.devices or default_devices(logical)
    return tuple(device for device in logical if device.name in names)


def places(devices: Sequence[LogicalDevice], machine: Machine, bandwidths: Mapping[str, float]) -> list[Device]:
    """The devices with their limits in bytes; `bandwidths` says how many bytes/s go to a physical device.

    Between the slices of one physical device, and between logical CPUs, tensors are handed over by reference, however
    large they are: what is not in `bandwidths` takes no time.
    """
    limits = limits_bytes(devices, machine)
    return [Device(each.name, limits[each.name], bandwidths.get(each.physical, math.inf)) for each in devices]


def most_bytes(devices: Sequence[LogicalDevice], machine: Machine) -> dict[str, int | None]:
    """What TensorFlow can hold on each device once nobody else is on its card, in bytes; None as in `limits_bytes`."""
    known = {name: room.most_mib for name, room in rooms(devices, machine).items()}
    return {name: None if mib is None else mib * MIB for name, mib in known.items()}


def limits_bytes(devices: Sequence[LogicalDevice], machine: Machine) -> dict[str, int | None]:
    """What TensorFlow can hold now on each device that takes part, in bytes; None on a CPU, or if it is unknown."""
    known = {name: room.mib for name, room in rooms(devices, machine).items()}
    return {name: None if mib is None else mib * MIB for name, mib in known.items()}


def workers(devices: Sequence[LogicalDevice], machine: Machine, threads_per_operation: int = 0) -> int:
    """How many of the devices work at one time: one slice of each card; of logical CPUs as many as the cores feed.

    An operation on a CPU takes `threads_per_operation` cores; 0 is TensorFlow's own choice, which is all of them.
    """
    cards = {device.physical for device in devices if not device.physical.startswith("CPU")}
    cpus = sum(device.physical.startswith("CPU") for device in devices)
    at_once = max(1, machine.cpu_cores // threads_per_operation) if threads_per_operation else 1
    return max(1, len(cards) + min(cpus, at_once))
