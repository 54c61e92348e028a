"""The logical devices of a plan as places for layers: memory limits, bandwidths, concurrency."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gpu_studio.common.figures import MIB
from gpu_studio.placement.work import Device
from gpu_studio.plan import Machine, Plan, PlannedDevice, logical_devices
from gpu_studio.plan.card_memory import available_memory
from gpu_studio.plan.logical import default_devices

THREADS = "TF_NUM_INTRAOP_THREADS"
"""TensorFlow's environment variable for the threads of an operation on a CPU."""


def threads_per_operation(environ: Mapping[str, str]) -> int:
    """The threads that an operation on a CPU may use; 0 is TensorFlow's default, one per core."""
    text = environ.get(THREADS, "")
    return int(text) if text.isdecimal() else 0


def chosen_devices(plan: Plan, machine: Machine) -> tuple[PlannedDevice, ...]:
    """The logical devices of the plan: those it names, else all GPUs, or all CPUs without a GPU."""
    logical = logical_devices(plan, machine)
    names = plan.distribution.devices or default_devices(logical)
    return tuple(device for device in logical if device.name in names)


def places(
    devices: Sequence[PlannedDevice], machine: Machine, bandwidths: Mapping[str, float]
) -> list[Device]:
    """The devices with their limits in bytes; `bandwidths` gives the bytes/s to a physical device.

    Between the slices of one physical device, and between logical CPUs, tensors are passed by
    reference, whatever their size: a transfer that is not in `bandwidths` takes no time.
    """
    limits = limits_bytes(devices, machine)
    return [
        Device(each.name, limits[each.name], bandwidths.get(each.physical, math.inf))
        for each in devices
    ]


def most_bytes(devices: Sequence[PlannedDevice], machine: Machine) -> dict[str, int | None]:
    """The most that TensorFlow could hold on each device without other users.

    None as in `limits_bytes`.
    """
    known = {
        name: available.most_mib for name, available in available_memory(devices, machine).items()
    }
    return {name: None if mib is None else mib * MIB for name, mib in known.items()}


def limits_bytes(devices: Sequence[PlannedDevice], machine: Machine) -> dict[str, int | None]:
    """What TensorFlow can hold now on each device in use, in bytes.

    None on a CPU, or if unknown.
    """
    known = {name: available.mib for name, available in available_memory(devices, machine).items()}
    return {name: None if mib is None else mib * MIB for name, mib in known.items()}


def workers(
    devices: Sequence[PlannedDevice], machine: Machine, threads_per_operation: int = 0
) -> int:
    """How many devices work at once: one slice per card; logical CPUs as the cores allow.

    An operation on a CPU takes `threads_per_operation` cores; 0 is TensorFlow's default, which is
    all of them.
    """
    cards = {device.physical for device in devices if not device.physical.startswith("CPU")}
    cpus = sum(device.physical.startswith("CPU") for device in devices)
    at_once = max(1, machine.cpu_cores // threads_per_operation) if threads_per_operation else 1
    return max(1, len(cards) + min(cpus, at_once))
