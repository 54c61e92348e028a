"""How a plan names cards: by number, or by UUID, which stays correct when cards come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpu_studio.plan import Card, Machine, Plan
from gpu_studio.plan.logical import is_physical_name
from gpu_studio.plan.machine import INSTANCE_PREFIX, UUID_PREFIX


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
