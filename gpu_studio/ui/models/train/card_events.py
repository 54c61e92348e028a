"""What befell the cards while a run went on: when their clocks were held down and by what, and errors of the driver."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gpu_studio.hardware.alerts import HARMLESS
from gpu_studio.hardware.samples import AnySample, Happened, Slow

LONGEST_GAP: Final = 30.0
"""Seconds without a word about a card after which nobody knows whether its clocks are still held down."""
MOST_KEPT: Final = 4096


@dataclass(slots=True)
class Held:
    """A card's clocks were held down by `reason` from `start` to `end`, seconds since 1970."""

    card: str
    reason: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class HeldTogether:
    """The same for cards at which it happened at once; `cards` are their keys."""

    cards: tuple[str, ...]
    reason: str
    start: float
    end: float


class CardEvents:
    """Takes samples in their order, and keeps the newest thousands of what happened. `revision` changes with them."""

    def __init__(self) -> None:
        self.revision = 0
        self.happened: deque[Happened] = deque(maxlen=MOST_KEPT)
        self.held: deque[Held] = deque(maxlen=MOST_KEPT)
        self._open: dict[tuple[str, str], Held] = {}

    def add(self, told: Iterable[AnySample]) -> None:
        """Take in what samples tell; those of another kind change nothing."""
        for sample in told:
            match sample:
                case Happened():
                    self.revision += 1
                    self.happened.append(sample)
                case Slow():
                    for card in sample.cards:
                        if card.throttle is not None:
                            self._hold(card.card, set(card.throttle) - HARMLESS, sample.time)

    def together(self, cards: Mapping[str, object]) -> list[HeldTogether]:
        """When the clocks of any of these cards were held down, by reason, one after the other."""
        found: list[HeldTogether] = []
        mine = (each for each in self.held if each.card in cards)
        for each in sorted(mine, key=lambda held: (held.reason, held.start)):
            last = found[-1] if found else None
            if last is not None and last.reason == each.reason and each.start <= last.end:
                keys = last.cards if each.card in last.cards else (*last.cards, each.card)
                found[-1] = HeldTogether(keys, each.reason, last.start, max(last.end, each.end))
            else:
                found.append(HeldTogether((each.card,), each.reason, each.start, each.end))
        return sorted(found, key=lambda each: each.start)

    def _hold(self, card: str, reasons: set[str], time: float) -> None:
        """Go on with what holds, end what does not, begin what is new."""
        for key in [key for key in self._open if key[0] == card]:
            held = self._open[key]
            near = time - held.end <= LONGEST_GAP
            if near:
                held.end = max(held.end, time)
                self.revision += 1
            if key[1] not in reasons or not near:
                del self._open[key]
        for reason in sorted(reasons):
            if (card, reason) not in self._open:
                self.revision += 1
                self._open[card, reason] = held = Held(card, reason, time, time)
                self.held.append(held)
