"""What a queued plan needs before it may start: memory of each card, or, without cards, the machine for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_studio.plan import MIB, LogicalDevice, Machine, Plan, logical_devices, replicas
from gpu_studio.plan.card_memory import most_mib
from gpu_studio.plan.logical import CPU

WHOLE_CARD = 0.9
"""The share of what a card can give that counts as all of it: a desktop or another program holds a little."""


@dataclass(frozen=True, slots=True)
class Need:
    """So many `bytes` of the physical `device`; None where it is not known how many, and of the CPU.

    `carved` says that they are those of slices.
    """

    device: str
    bytes: int | None = None
    carved: bool = False


def needs_of(plan: Plan, machine: Machine, predicted: Mapping[str, int]) -> tuple[Need, ...]:
    """What `plan` needs of each physical device that it works on, in TensorFlow's order.

    Of a logical device that is what was `predicted`; else its slice's limit; else the whole card. A plan that works on
    cards waits for those; one that works on CPUs alone needs the CPU.
    """
    known = {each.name: each for each in logical_devices(plan, machine)}
    used = [known[name] for name in replicas(plan, machine) if name in known]
    cards = [each for each in used if each.physical != CPU]
    if not cards:
        return (Need(CPU),) if used else ()
    return tuple(_of_card(card, cards, machine, predicted) for card in dict.fromkeys(each.physical for each in cards))


def _of_card(card: str, devices: list[LogicalDevice], machine: Machine, predicted: Mapping[str, int]) -> Need:
    mine = [each for each in devices if each.physical == card]
    told = [part for each in mine if (part := _of_device(each, machine, predicted)) is not None]
    carved = any(each.limit_mib is not None for each in mine)
    return Need(card, sum(told) if len(told) == len(mine) else None, carved)


def _of_device(device: LogicalDevice, machine: Machine, predicted: Mapping[str, int]) -> int | None:
    if device.name in predicted:
        return predicted[device.name]
    if device.limit_mib:
        return device.limit_mib * MIB
    card = machine.card(device.physical)
    most = None if card is None else most_mib(card)
    return None if most is None else int(most * WHOLE_CARD) * MIB
