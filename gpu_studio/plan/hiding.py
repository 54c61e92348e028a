"""Hide cards that a plan shows to TensorFlow without using them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpu_studio.plan.logical import (
    CPU,
    is_physical_name,
    logical_devices,
    physical_name,
    visible_cards,
)
from gpu_studio.plan.logical_names import followed
from gpu_studio.plan.machine import UUID_PREFIX, Card, Machine
from gpu_studio.plan.replication import replicas
from gpu_studio.plan.strategies import strategy_of
from gpu_studio.plan.values import Plan


def idle_cards(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """The visible cards, by name, that hold neither a replica nor the variables.

    None with a placement.
    """
    if strategy_of(plan).places_layers:
        return ()
    used = _used(plan, machine)
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


def _used(plan: Plan, machine: Machine) -> set[str]:
    known = {device.name: device.physical for device in logical_devices(plan, machine)}
    named = (*replicas(plan, machine), plan.distribution.parameter_device or "")
    return {known[name] for name in named if name in known}
