"""Which cards are left alone for a while, because being asked is what keeps them awake.

A laptop's card falls asleep when nobody has it open, and the sampler itself has it open. So one that may sleep and that
nobody uses is let go of. If it does not fall asleep then, somebody else keeps it awake, and it is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gpu_studio.hardware.pci import PciCard

IDLE_AFTER: Final = 120.0
"""Seconds without any use after which a card is let go of."""
SHORTEST_REST, LONGEST_REST = 60.0, 960.0
"""Seconds for which it is left alone; twice as many each time in vain, because asking begins its time to sleep anew."""


class Resting:
    """Follows the cards that may sleep, by their PCI addresses. Times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self.bus_ids: frozenset[str] = frozenset()
        self._idle_since: dict[str, float] = {}
        self._rests: dict[str, float] = {}
        self._until: dict[str, float] = {}
        self._slept: set[str] = set()

    def saw(self, bus_id: str, now: float, *, busy: bool) -> None:
        """A card was asked, and was in use or not."""
        if busy:
            self._idle_since.pop(bus_id, None)
            self._rests.pop(bus_id, None)
        else:
            self._idle_since.setdefault(bus_id, now)

    def is_idle(self, bus_id: str, now: float) -> bool:
        """Whether a card has been without use for so long that it could sleep."""
        return now - self._idle_since.get(bus_id, now) >= IDLE_AFTER

    def begin(self, bus_id: str, now: float) -> None:
        """Leave a card alone from now on."""
        rest = min(LONGEST_REST, 2 * self._rests.get(bus_id, SHORTEST_REST / 2))
        self._rests[bus_id], self._until[bus_id] = rest, now + rest
        self._idle_since.pop(bus_id, None)
        self.bus_ids |= {bus_id}

    def follow(self, listed: Iterable[PciCard], now: float) -> bool:
        """Look at how the kernel lists the cards; whether some card is to be asked again."""
        before = self.bus_ids
        for card in listed:
            if card.bus_id in self.bus_ids and self._is_over(card, now):
                self.bus_ids -= {card.bus_id}
                self._slept.discard(card.bus_id)
        return self.bus_ids != before

    def _is_over(self, card: PciCard, now: float) -> bool:
        if card.asleep:
            self._slept.add(card.bus_id)
            return False
        if card.bus_id in self._slept:
            # It slept, and somebody woke it to work on it.
            self._rests.pop(card.bus_id, None)
            return True
        return now >= self._until[card.bus_id]
