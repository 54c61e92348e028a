"""Edits of which devices TensorFlow may see, by what names, and how it uses them.

A card is named by its number, or by its UUID, which stays correct when cards come and go. Cards
that a plan shows without using them can be hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from gpu_studio.plan import Card, Carve, Machine, Plan
from gpu_studio.plan.devices import (
    CPU,
    INSTANCE_PREFIX,
    UUID_PREFIX,
    followed,
    is_physical_name,
    logical_devices,
    physical_name,
    replicas,
    visible_cards,
)
from gpu_studio.plan.strategies import strategy_of


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
        return _with_visible(plan, (plan_name(plan, device, machine),), carve, machine)
    named = plan.devices.visible
    if not named or device in _physical(named, machine):
        return plan
    shown = (*(() if named == (CPU,) else named), plan_name(plan, device, machine))
    order = [*(card.device for card in machine.cards), CPU]
    if _in_order(_physical(shown[:-1], machine), order):
        shown = tuple(sorted(shown, key=lambda name: order.index(physical_name(name, machine))))
    everything = [*_physical(shown, machine), CPU] == order and not names_by_uuid(plan)
    return _with_visible(plan, () if everything else shown, plan.devices.carve, machine)


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
    return _with_visible(plan, left or (CPU,), carve, machine)


def forget_device(plan: Plan, device: str, machine: Machine) -> Plan:
    """`plan` without a named device that the machine lacks.

    If no other is named, all are visible.
    """
    visible = tuple(name for name in plan.devices.visible if name != device)
    carve = tuple(each for each in plan.devices.carve if each.device != device)
    return _with_visible(plan, visible, carve, machine)


def _with_visible(
    plan: Plan, visible: tuple[str, ...], carve: tuple[Carve, ...], machine: Machine
) -> Plan:
    devices = replace(plan.devices, visible=visible, carve=carve)
    return followed(plan, replace(plan, devices=devices), machine)


def _physical(names: tuple[str, ...], machine: Machine) -> tuple[str, ...]:
    return tuple(physical_name(name, machine) for name in names)


def _in_order(devices: tuple[str, ...], order: list[str]) -> bool:
    places = [order.index(device) if device in order else -1 for device in devices]
    return -1 not in places and places == sorted(places)


def named_cards(plan: Plan) -> tuple[str, ...]:
    """Every name that the plan uses for a card, each once, in `visible` and in the carves."""
    names = (*plan.devices.visible, *(carve.device for carve in plan.devices.carve))
    return tuple(dict.fromkeys(name for name in names if not name.startswith("CPU")))


def names_by_uuid(plan: Plan) -> bool:
    """Whether the plan names any card by its UUID."""
    return any(name.startswith((UUID_PREFIX, INSTANCE_PREFIX)) for name in named_cards(plan))


def plan_name(plan: Plan, device: str, machine: Machine) -> str:
    """The name for a physical device in the style that the plan already uses."""
    card = machine.card(device)
    return _uuid(card) if card and names_by_uuid(plan) else device


def name_by_uuid(plan: Plan, machine: Machine) -> Plan:
    """`plan` with each card of this machine named by its full UUID, where that is possible."""
    return _renamed(plan, machine, _uuid)


def name_by_number(plan: Plan, machine: Machine) -> Plan:
    """`plan` with each card of this machine named by its number, `GPU:0`."""
    return _renamed(plan, machine, lambda card: card.device)


def _uuid(card: Card) -> str:
    return card.uuid if is_physical_name(card.uuid) else card.device


def _renamed(plan: Plan, machine: Machine, name: Callable[[Card], str]) -> Plan:
    def called(device: str) -> str:
        card = machine.card(device)
        return name(card) if card else device

    visible = tuple(called(device) for device in plan.devices.visible)
    carve = tuple(replace(each, device=called(each.device)) for each in plan.devices.carve)
    return replace(plan, devices=replace(plan.devices, visible=visible, carve=carve))


def idle_cards(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """The visible cards, by name, that hold neither a replica nor the variables.

    None with a placement.
    """
    if strategy_of(plan).places_layers:
        return ()
    used = _used_cards(plan, machine)
    return tuple(
        card.device
        for card in visible_cards(plan.devices, machine)
        if used and card.device not in used
    )


def only_used(plan: Plan, machine: Machine) -> Plan:
    """`plan` with the idle cards hidden."""
    return without(plan, machine, idle_cards(plan, machine))


def without(plan: Plan, machine: Machine, cards: Iterable[str]) -> Plan:
    """`plan` with these cards hidden; the logical devices that it names get their new numbers.

    While a card does not answer, CUDA may not count it: then the other cards are named by UUID.
    """
    hidden = set(cards)
    one_is_lost = any(card.lost for card in machine.cards)
    shown = plan.devices.visible or tuple(
        card.device for card in visible_cards(plan.devices, machine)
    )
    kept = tuple(name for name in shown if physical_name(name, machine) not in hidden)
    carve = tuple(
        each for each in plan.devices.carve if physical_name(each.device, machine) not in hidden
    )
    if one_is_lost:
        kept = tuple(by_uuid(name, machine) for name in kept)
        carve = tuple(replace(each, device=by_uuid(each.device, machine)) for each in carve)
    changed = replace(plan, devices=replace(plan.devices, visible=kept or (CPU,), carve=carve))
    return followed(plan, changed, machine)


def by_uuid(device: str, machine: Machine) -> str:
    """The card's UUID if it is known and usable in a plan; else the name unchanged."""
    card = machine.card(device)
    return card.uuid if card is not None and is_physical_name(card.uuid) else device


def only_on(card: Card, plan: Plan) -> Plan:
    """`plan` on this card alone, without slices."""
    named_so = any(name.startswith(UUID_PREFIX) for name in plan.devices.visible)
    name = card.uuid if named_so and card.uuid else card.device
    chosen = replace(plan.distribution, devices=(), parameter_device=None)
    return replace(
        plan, devices=replace(plan.devices, visible=(name,), carve=()), distribution=chosen
    )


def _used_cards(plan: Plan, machine: Machine) -> set[str]:
    known = {device.name: device.physical for device in logical_devices(plan, machine)}
    named = (*replicas(plan, machine), plan.distribution.parameter_device or "")
    return {known[name] for name in named if name in known}
