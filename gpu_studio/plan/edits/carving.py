"""Edits of how physical devices are cut into slices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpu_studio.plan import Carve, Machine, Plan
from gpu_studio.plan.carving import CardSlices, equal_slices
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.device_names import plan_name
from gpu_studio.plan.logical import physical_name
from gpu_studio.plan.logical_names import followed

MOST_SLICES = 8
"""So many slices are offered in a list; more can be made one by one."""


@dataclass(frozen=True, slots=True)
class Carved:
    """A requested carve of a physical device, and its name in undo. `field` as in Change."""

    device: str
    cut: CardSlices
    text: str
    field: str = ""


def slices_of(plan: Plan, device: str, machine: Machine) -> tuple[int, ...]:
    """The memory limits of the slices of a device, in MiB; empty where it is not carved."""
    for carve in plan.devices.carve:
        if physical_name(carve.device, machine) == device:
            return carve.slices_mib
    return ()


def set_slices(plan: Plan, device: str, count: int, machine: Machine) -> Plan:
    """`plan` with the physical device cut into `count` equal slices; 1 leaves it whole.

    The slices share the memory of the card that nobody uses now. The rest as in `set_cut`.
    """
    sizes = equal_slices(device, count, machine) if count > 1 else ()
    return set_cut(plan, device, CardSlices.of(sizes), machine)


def set_cut(plan: Plan, device: str, cut: CardSlices, machine: Machine) -> Plan:
    """`plan` with the physical device cut into these slices; without slices it is left whole.

    Memory growth and a carve exclude each other, so a carve turns growth off. Logical devices that
    the plan names remain the same slices, under their new names; those whose slices are gone are
    removed.
    """
    carve = tuple(_recarved(plan, device, cut.sizes, machine))
    if carve == plan.devices.carve:
        return plan
    growth = plan.devices.memory_growth and not carve
    visible = plan.devices.visible
    card = machine.card(device)
    if card is not None and card.instance and not visible:
        # An instance has no device number for TensorFlow to identify its slices: the plan must name
        # it.
        visible = (card.uuid,)
    changed = replace(
        plan, devices=replace(plan.devices, visible=visible, carve=carve, memory_growth=growth)
    )
    return followed(plan, changed, machine, device, cut.origins or (0,))


def change_of(carved: Carved, machine: Machine) -> Change:
    """The edit that cuts a device as requested."""
    return Change(
        lambda plan: set_cut(plan, carved.device, carved.cut, machine), carved.text, carved.field
    )


def equal_change(device: str, count: int, machine: Machine) -> Change:
    """The edit that cuts a device into `count` equal slices; 1 leaves it whole."""
    name = machine.title(device)
    text = f"cut {name} into {count}" if count > 1 else f"leave {name} whole"
    return Change(lambda plan: set_slices(plan, device, count, machine), text)


def _recarved(plan: Plan, device: str, sizes: tuple[int, ...], machine: Machine) -> Iterator[Carve]:
    """The carves with that of `device` replaced under its old name, or appended if it had none."""
    mine = [carve for carve in plan.devices.carve if physical_name(carve.device, machine) == device]
    for carve in plan.devices.carve:
        if carve not in mine:
            yield carve
        elif sizes and carve is mine[0]:
            yield replace(carve, slices_mib=sizes)
    if sizes and not mine:
        yield Carve(plan_name(plan, device, machine), sizes)
