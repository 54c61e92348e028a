"""The changes of a plan that the window offers: each takes a plan and gives the changed one."""

from __future__ import annotations

from dataclasses import replace

from gpu_studio.plan import Carve, Machine, Plan
from gpu_studio.plan.carving import equal_slices
from gpu_studio.plan.logical import CPU, physical_name

MOST_SLICES = 8


def set_training(plan: Plan, **values: object) -> Plan:
    """`plan` with these fields of its training part."""
    return replace(plan, training=replace(plan.training, **values))  # type: ignore[arg-type]


def set_strategy(plan: Plan, strategy: str) -> Plan:
    """`plan` with another strategy; what only the one before had a use for is left out."""
    chosen = plan.distribution
    devices = {"none": (), "one_device": chosen.devices[:1]}.get(strategy, chosen.devices)
    parameters = chosen.parameter_device if strategy == "central_storage" else None
    changed = replace(chosen, strategy=strategy, devices=devices, parameter_device=parameters, placed=None)
    return replace(plan, distribution=changed)


def set_slices(plan: Plan, device: str, count: int, machine: Machine) -> Plan:
    """`plan` with the physical device cut into `count` equal slices; 1 leaves it whole.

    The slices of a card share what nobody uses of it now; memory growth and a carve exclude each other, so a carve
    ends growth. Logical devices that the plan named go, because their names would mean others now.
    """
    others = tuple(carve for carve in plan.devices.carve if physical_name(carve.device, machine) != device)
    sizes = equal_slices(device, count, machine)
    carve = (*others, Carve(device, sizes)) if count > 1 else others
    growth = plan.devices.memory_growth and not any(each.device != CPU for each in carve)
    devices = replace(plan.devices, carve=carve, memory_growth=growth)
    return replace(plan, devices=devices, distribution=replace(plan.distribution, devices=(), parameter_device=None))


def slices_of(plan: Plan, device: str, machine: Machine) -> tuple[int, ...]:
    """The memory limits of the slices of a device, in MiB; empty where it is not carved."""
    for carve in plan.devices.carve:
        if physical_name(carve.device, machine) == device:
            return carve.slices_mib
    return ()
