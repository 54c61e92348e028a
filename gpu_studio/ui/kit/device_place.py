"""The number that gives a device its colour and dash, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Protocol

from gpu_studio.plan import Machine

HOST = 1000
"""The number of the host's CPU beside cards: it is grey, and comes after them."""


class PlacedDevice(Protocol):
    """A logical device, and the physical one that it is a slice of."""

    @property
    def name(self) -> str:
        """What TensorFlow calls it."""

    @property
    def physical(self) -> str:
        """What the plan calls the physical device."""


def places(
    devices: Iterable[PlacedDevice],
    machine: Machine | None = None,
    numbers: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """The place of each of TensorFlow's logical devices, given all of them in its order.

    A card has its own number's colour, as on the Devices page, and so has its first slice; further
    slices have those of the next numbers that no card here has. Beside cards the CPU is the host,
    which has no colour of its own; without cards the logical CPUs stand for them. `numbers` has the
    numbers of cards by what the plan calls them, as far as they are known otherwise than by
    `machine`.
    """
    listed = tuple(devices)
    if not any(each.name.startswith("GPU") for each in listed):
        return {each.name: place for place, each in enumerate(listed)}
    known = numbers or {}
    cards = {
        each.physical: known.get(each.physical, _number(each.physical, machine))
        for each in listed
        if each.name.startswith("GPU")
    }
    free = _free({number for number in cards.values() if number is not None})
    found: dict[str, int] = {}
    for each in listed:
        number = cards.pop(each.physical, None)
        found[each.name] = (
            HOST if each.name.startswith("CPU") else next(free) if number is None else number
        )
    return found


def _free(taken: set[int]) -> Iterator[int]:
    return (number for number in count() if number not in taken)


def _number(physical: str, machine: Machine | None) -> int | None:
    """The number of a card; None if only its UUID is known."""
    card = machine.card(physical) if machine else None
    if card is not None:
        return card.index
    number = physical.removeprefix("GPU:")
    return int(number) if number.isdecimal() else None
