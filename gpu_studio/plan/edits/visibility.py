"""Edits of which devices TensorFlow may see, and of how it uses them."""

from __future__ import annotations

from dataclasses import replace

from gpu_studio.plan import Carve, Machine, Plan
from gpu_studio.plan.edits.device_names import names_by_uuid, plan_name
from gpu_studio.plan.logical import CPU, physical_name, visible_cards
from gpu_studio.plan.logical_names import followed


def set_devices(plan: Plan, **values: bool) -> Plan:
    """`plan` with these settings of its devices part."""
    return replace(plan, devices=replace(plan.devices, **values))  # type: ignore[arg-type]


def show_card(plan: Plan, device: str, machine: Machine) -> Plan:
    """`plan` with the card visible: in bus order if the others are, else last.

    All visible needs no names. An instance of a card in MIG mode replaces all others, and any other
    device replaces it.
    """
    card, seen = machine.card(device), visible_cards(plan.devices, machine)
    if card is not None and card not in seen and any(each.instance for each in (card, *seen)):
        carve = tuple(each for each in plan.devices.carve if each.device == CPU)
        return _changed(plan, (plan_name(plan, device, machine),), carve, machine)
    named = plan.devices.visible
    if not named or device in _physical(named, machine):
        return plan
    shown = (*(() if named == (CPU,) else named), plan_name(plan, device, machine))
    order = [*(card.device for card in machine.cards), CPU]
    if _in_order(_physical(shown[:-1], machine), order):
        shown = tuple(sorted(shown, key=lambda name: order.index(physical_name(name, machine))))
    everything = [*_physical(shown, machine), CPU] == order and not names_by_uuid(plan)
    return _changed(plan, () if everything else shown, plan.devices.carve, machine)


def hide_card(plan: Plan, device: str, machine: Machine) -> Plan:
    """`plan` with the card hidden and without a carve.

    If no card is visible, it names the CPU, which always is.
    """
    seen = visible_cards(plan.devices, machine)
    names = plan.devices.visible or tuple(plan_name(plan, card.device, machine) for card in seen)
    left = tuple(name for name in names if physical_name(name, machine) != device)
    carve = tuple(
        each for each in plan.devices.carve if physical_name(each.device, machine) != device
    )
    return _changed(plan, left or (CPU,), carve, machine)


def forget_device(plan: Plan, device: str, machine: Machine) -> Plan:
    """`plan` without a named device that the machine lacks.

    If no other is named, all are visible.
    """
    visible = tuple(name for name in plan.devices.visible if name != device)
    carve = tuple(each for each in plan.devices.carve if each.device != device)
    return _changed(plan, visible, carve, machine)


def _changed(
    plan: Plan, visible: tuple[str, ...], carve: tuple[Carve, ...], machine: Machine
) -> Plan:
    devices = replace(plan.devices, visible=visible, carve=carve)
    return followed(plan, replace(plan, devices=devices), machine)


def _physical(names: tuple[str, ...], machine: Machine) -> tuple[str, ...]:
    return tuple(physical_name(name, machine) for name in names)


def _in_order(devices: tuple[str, ...], order: list[str]) -> bool:
    places = [order.index(device) if device in order else -1 for device in devices]
    return -1 not in places and places == sorted(places)
