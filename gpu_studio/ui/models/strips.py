"""The physical devices of a machine under a plan, as bars to scale."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.plan import Card, LogicalDevice, Machine, Plan, logical_devices, visible_cards
from gpu_studio.plan.logical import CPU
from gpu_studio.ui.models.plan_edits import slices_of
from gpu_studio.ui.units import mib, plural


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of the bar, `size` wide in any unit. `place` gives its colour; without one it is nobody's room."""

    size: float
    title: str
    caption: str = ""
    place: int | None = None
    hatched: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    """One physical device: how it is called and how it is cut. TensorFlow sees nothing of one that is not `visible`."""

    device: str
    name: str
    detail: str
    slices: int
    segments: tuple[Segment, ...]
    note: str = ""
    visible: bool = True


def strips_of(plan: Plan, machine: Machine) -> tuple[Strip, ...]:
    """The cards; and the CPU where there are no cards, or where the plan carves it."""
    logical = tuple(enumerate(logical_devices(plan, machine)))
    cards = tuple(_card_strip(plan, machine, card, logical) for card in machine.cards)
    carved = bool(slices_of(plan, CPU, machine))
    return (*cards, _cpu_strip(machine, logical)) if carved or not cards else cards


def _cpu_strip(machine: Machine, logical: tuple[tuple[int, LogicalDevice], ...]) -> Strip:
    segments = tuple(Segment(1, device.name, place=place) for place, device in logical if device.physical == CPU)
    memory = f" · {mib(machine.memory_mib)}" if machine.memory_mib else ""
    return Strip(CPU, "CPU", f"{plural(machine.cpu_cores, 'core')}{memory}", len(segments), segments)


def _card_strip(plan: Plan, machine: Machine, card: Card, logical: tuple[tuple[int, LogicalDevice], ...]) -> Strip:
    detail = f"{card.name} · {mib(card.total_mib)}" if card.total_mib else card.name
    mine = tuple((place, device) for place, device in logical if device.physical == card.device)
    if card not in visible_cards(plan.devices, machine):
        segments: tuple[Segment, ...] = (Segment(1, "hidden from TensorFlow by the plan"),)
        return Strip(card.device, f"GPU {card.index}", detail, 0, segments, visible=False)
    count = len(slices_of(plan, card.device, machine)) or 1
    taken = _taken(card)
    note = f"▨ driver and other programs now: {mib(taken)}" if taken else card.why_unknown
    return Strip(card.device, f"GPU {card.index}", detail, count, _card_segments(plan, card, mine), note)


def _card_segments(plan: Plan, card: Card, mine: tuple[tuple[int, LogicalDevice], ...]) -> tuple[Segment, ...]:
    taken = _taken(card)
    total = card.total_mib or 0
    others = (Segment(taken, "in use now", mib(taken), hatched=True),) if taken else ()
    if all(device.limit_mib is None for _, device in mine):
        caption = "grows as needed" if plan.devices.memory_growth else "all that is free"
        return (*others, *(Segment(max(1, total - taken), device.name, caption, place) for place, device in mine))
    limits = tuple(
        Segment(device.limit_mib or 0, device.name, mib(device.limit_mib or 0), place) for place, device in mine
    )
    free = total - taken - sum(int(segment.size) for segment in limits)
    return (*others, *limits, *((Segment(free, "", f"{mib(free)} free"),) if free > 0 else ()))


def _taken(card: Card) -> int:
    """What the driver and other programs hold of a card now, in MiB."""
    return (card.used_mib or 0) + card.reserved_mib
