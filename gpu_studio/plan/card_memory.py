"""How much of a card's memory TensorFlow can have: at all, and now, beside those who hold some of it.

The one rule for whether a plan fits, which the Plan page, `gpu-studio model`, the search for a placement and the queue
follow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_studio.plan.logical import LogicalDevice
from gpu_studio.plan.machine import Card, Machine

CONTEXT_MIB = 512
"""What the CUDA context of a process takes of a card before TensorFlow asks how much is free.

What TensorFlow's log says that it may use, with what it keeps back, is less than what such a card has free: by about 60
to 520 MiB in logs of T4, L4, A100 and H100.
"""
LIBRARIES_MIB = 512
"""What cuDNN and cuBLAS need beside the slices that a plan cuts a card into."""
OUTSIDE_MIB = CONTEXT_MIB + LIBRARIES_MIB
"""What a process takes of a card besides the slices that a plan cuts it into."""
FEW_MIB, KEPT_OF_FEW_MIB = 2048, 225
_KEPT_MIB = ((6, 500), (7, 1050), (8, 1536))
_MOST_KEPT_MIB = 1800


@dataclass(frozen=True, slots=True)
class Room:
    """What TensorFlow may hold on a logical device, in MiB: at `most`, and of that what it would get `now`.

    None is unknown, or without a limit.
    """

    most_mib: int | None = None
    now_mib: int | None = None

    @property
    def mib(self) -> int | None:
        """The less of both, as far as they are known."""
        return min((each for each in (self.most_mib, self.now_mib) if each is not None), default=None)


def kept_back_mib(card: Card, available_mib: int) -> int:
    """What TensorFlow leaves to CUDA's libraries of `available_mib`, on a card that the plan does not carve.

    `available_mib` is what is free once the process has its CUDA context. This is TensorFlow's own rule, by the card's
    compute capability (`MinSystemMemory` in gpu_device.cc). Where that is not known, the most.
    """
    if available_mib < FEW_MIB:
        return min(available_mib, KEPT_OF_FEW_MIB)
    major = card.compute_major
    known = (kept for newest, kept in _KEPT_MIB if major is not None and major <= newest)
    return min(available_mib, next(known, _MOST_KEPT_MIB))


def given_mib(card: Card, available_mib: int, *, carved: bool) -> int:
    """What of `available_mib` of a card is there for tensors: not what CUDA's context and its libraries take."""
    left = max(0, available_mib - CONTEXT_MIB)
    return max(0, left - (LIBRARIES_MIB if carved else kept_back_mib(card, left)))


def most_mib(card: Card, *, carved: bool = False) -> int | None:
    """What all tensors on a card can take together if nobody else is on it; None if that is not known."""
    return None if card.usable_mib is None else given_mib(card, card.usable_mib, carved=carved)


def now_mib(card: Card, *, carved: bool = False) -> int | None:
    """What all tensors on a card can take together beside those who hold memory now; None if that is not known."""
    return None if card.free_mib is None else given_mib(card, card.free_mib, carved=carved)


def outside_mib(card: Card) -> int | None:
    """What CUDA and its libraries get of a card that is not carved, before any tensor; None if that is not known."""
    most = most_mib(card)
    return None if card.usable_mib is None or most is None else card.usable_mib - most


def by_room(cards: Iterable[Card]) -> list[Card]:
    """The cards of which it is known that they have room now, that with the most first."""
    known = [(now, card) for card in cards if (now := now_mib(card))]
    return [card for _, card in sorted(known, key=lambda pair: -pair[0])]


def rooms(devices: Iterable[LogicalDevice], machine: Machine) -> dict[str, Room]:
    """The room on each of the devices, by name.

    A slice is taken whole when it is first used: those that stand first take what is free of their card first.
    """
    left: dict[str, int | None] = {}
    found: dict[str, Room] = {}
    for device in devices:
        card = machine.card(device.physical)
        if device.limit_mib is not None:
            if card is not None and device.physical not in left:
                left[device.physical] = now_mib(card, carved=True)
            free = left.get(device.physical)
            found[device.name] = Room(device.limit_mib, None if free is None else min(device.limit_mib, free))
            left[device.physical] = None if free is None else max(0, free - device.limit_mib)
        else:
            found[device.name] = Room() if card is None else Room(most_mib(card), now_mib(card))
    return found
