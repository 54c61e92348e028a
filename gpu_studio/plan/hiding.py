"""Cards that a plan shows to TensorFlow without giving them anything to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpu_studio.plan.logical import CPU, LogicalDevice, logical_devices, physical_name, replicas, visible_cards
from gpu_studio.plan.machine import UUID_PREFIX, Card, Machine
from gpu_studio.plan.values import Distribution, Plan


def idle_cards(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """The visible cards, by name, that neither hold a replica nor the variables. A placement uses what it names."""
    if plan.distribution.strategy == "placed":
        return ()
    used = _used(plan, machine)
    return tuple(card.device for card in visible_cards(plan.devices, machine) if used and card.device not in used)


def only_used(plan: Plan, machine: Machine) -> Plan:
    """`plan` with the idle cards hidden; the logical devices that it names go by their new numbers."""
    idle = set(idle_cards(plan, machine))
    shown = plan.devices.visible or tuple(card.device for card in machine.cards)
    kept = tuple(name for name in shown if physical_name(name, machine) not in idle)
    carve = tuple(each for each in plan.devices.carve if physical_name(each.device, machine) not in idle)
    changed = replace(plan, devices=replace(plan.devices, visible=kept or (CPU,), carve=carve))
    names = _new_names(logical_devices(plan, machine), logical_devices(changed, machine))
    return replace(changed, distribution=_renamed(plan.distribution, names))


def only_on(card: Card, plan: Plan) -> Plan:
    """`plan` on this card alone, whole."""
    by_uuid = any(name.startswith(UUID_PREFIX) for name in plan.devices.visible)
    name = card.uuid if by_uuid and card.uuid else card.device
    chosen = replace(plan.distribution, devices=(), parameter_device=None)
    return replace(plan, devices=replace(plan.devices, visible=(name,), carve=()), distribution=chosen)


def _used(plan: Plan, machine: Machine) -> set[str]:
    known = {device.name: device.physical for device in logical_devices(plan, machine)}
    named = (*replicas(plan, machine), plan.distribution.parameter_device or "")
    return {known[name] for name in named if name in known}


def _new_names(before: Iterable[LogicalDevice], after: Iterable[LogicalDevice]) -> Mapping[str, str]:
    """The new name of each logical device by its old one: the same slice of the same physical device."""
    new = _by_physical(after)
    return {
        old: new[physical][number]
        for physical, names in _by_physical(before).items()
        for number, old in enumerate(names)
        if physical in new
    }


def _by_physical(devices: Iterable[LogicalDevice]) -> Mapping[str, list[str]]:
    names: defaultdict[str, list[str]] = defaultdict(list)
    for device in devices:
        names[device.physical].append(device.name)
    return names


def _renamed(chosen: Distribution, names: Mapping[str, str]) -> Distribution:
    devices = tuple(names.get(name, name) for name in chosen.devices)
    home = chosen.parameter_device
    return replace(chosen, devices=devices, parameter_device=names.get(home, home) if home else None)
