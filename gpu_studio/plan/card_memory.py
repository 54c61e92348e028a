"""How much memory TensorFlow can have on a card, empty or as used now, and who holds the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.common.figures import MIB, size, size_from_mib
from gpu_studio.plan.devices import Card, CardUser, Machine, PlannedDevice

CONTEXT_MIB = 512
"""Memory that a process's CUDA context takes on a card before TensorFlow asks how much is free.

The memory that TensorFlow logs as usable, plus what it keeps back, is about 60 to 520 MiB less than
what the card has free, in logs of T4, L4, A100 and H100.
"""
LIBRARIES_MIB = 512
"""Memory that cuDNN and cuBLAS need besides the slices of a carved card."""
OUTSIDE_MIB = CONTEXT_MIB + LIBRARIES_MIB
"""Memory that a process takes on a carved card besides the slices."""
FEW_MIB, KEPT_OF_FEW_MIB = 2048, 225
_KEPT_MIB = ((6, 500), (7, 1050), (8, 1536))
_MOST_KEPT_MIB = 1800


@dataclass(frozen=True, slots=True)
class AvailableMemory:
    """What TensorFlow can hold on a logical device, in MiB: at `most`, and `now`.

    None is unknown, or no limit.
    """

    most_mib: int | None = None
    now_mib: int | None = None

    @property
    def mib(self) -> int | None:
        """The smaller of the two, as far as they are known."""
        return min(
            (each for each in (self.most_mib, self.now_mib) if each is not None), default=None
        )


def beside_slices_mib(card: Card) -> int:
    """Memory that a process takes on a carved card besides its slices.

    None on a practice card, which has neither CUDA nor its libraries.
    """
    return 0 if card.practice else OUTSIDE_MIB


def too_little_beside(beside_mib: int, left_mib: int, whose: str = "the slices") -> str:
    """Say that a carve leaves less of its card than a process takes besides the slices."""
    return (
        f"CUDA itself needs about {size_from_mib(beside_mib)} besides {whose}, and "
        f"{size_from_mib(left_mib)} are left"
    )


def kept_back_mib(card: Card, available_mib: int) -> int:
    """The part of `available_mib` that TensorFlow leaves to CUDA's libraries on an uncarved card.

    `available_mib` is what is free once the process has its CUDA context. This is TensorFlow's own
    rule, by compute capability (`MinSystemMemory` in gpu_device.cc); the maximum if that is not
    known. On a practice card it leaves nothing.
    """
    if card.practice:
        return 0
    if available_mib < FEW_MIB:
        return min(available_mib, KEPT_OF_FEW_MIB)
    major = card.compute_major
    known = (kept for newest, kept in _KEPT_MIB if major is not None and major <= newest)
    return min(available_mib, next(known, _MOST_KEPT_MIB))


def given_mib(card: Card, available_mib: int, *, carved: bool) -> int:
    """The part of `available_mib` left for tensors, without the CUDA context and the libraries."""
    if carved:
        return max(0, available_mib - beside_slices_mib(card))
    left = max(0, available_mib - (0 if card.practice else CONTEXT_MIB))
    return max(0, left - kept_back_mib(card, left))


def most_mib(card: Card, *, carved: bool = False) -> int | None:
    """What all tensors can take on a card that nobody else uses; None if unknown."""
    return None if card.usable_mib is None else given_mib(card, card.usable_mib, carved=carved)


def now_mib(card: Card, *, carved: bool = False) -> int | None:
    """What all tensors can take on a card besides its present users; None if unknown."""
    return None if card.free_mib is None else given_mib(card, card.free_mib, carved=carved)


def outside_mib(card: Card) -> int | None:
    """What CUDA and its libraries take on a card without a carve; None if unknown."""
    most = most_mib(card)
    return None if card.usable_mib is None or most is None else card.usable_mib - most


def by_available_memory(cards: Iterable[Card]) -> list[Card]:
    """The cards that are known to have free memory, the one with the most first."""
    known = [(now, card) for card in cards if (now := now_mib(card))]
    return [card for _, card in sorted(known, key=lambda pair: -pair[0])]


def available_memory(
    devices: Iterable[PlannedDevice], machine: Machine
) -> dict[str, AvailableMemory]:
    """The memory available on each device, by name.

    A slice is allocated whole when it is first used, so earlier slices take a card's free memory
    first.
    """
    left: dict[str, int | None] = {}
    found: dict[str, AvailableMemory] = {}
    for device in devices:
        card = machine.card(device.physical)
        if device.limit_mib is not None:
            if card is not None and device.physical not in left:
                left[device.physical] = now_mib(card, carved=True)
            free = left.get(device.physical)
            found[device.name] = AvailableMemory(
                device.limit_mib, None if free is None else min(device.limit_mib, free)
            )
            left[device.physical] = None if free is None else max(0, free - device.limit_mib)
        else:
            found[device.name] = (
                AvailableMemory()
                if card is None
                else AvailableMemory(most_mib(card), now_mib(card))
            )
    return found


MOST_HOLDERS = 2


def held_by(users: Sequence[CardUser], runs: Mapping[int, str] | None = None) -> str:
    """The holders in words: `held by python 4711 of grace (7.2 GiB)`.

    The largest are named, the others counted. `runs` gives names for processes that are runs. Empty
    if there are no holders.
    """
    if not users:
        return ""
    named = [_in_words(user, (runs or {}).get(user.pid, "")) for user in users[:MOST_HOLDERS]]
    left = len(users) - MOST_HOLDERS
    more = [f"{left} {'other' if left == 1 else 'others'}"] if left > 0 else []
    return f"held by {', '.join((*named, *more))}"


def _in_words(user: CardUser, run: str) -> str:
    who = run or f"{user.command or 'process'} {user.pid}"
    whose = f" of {user.user}" if user.user else ""
    return (
        f"{who}{whose}" if user.used_mib is None else f"{who}{whose} ({size(user.used_mib * MIB)})"
    )
