"""What a person should know of the devices: what befell them, and what is near a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_studio.hardware.picture import CardNow, Picture
from gpu_studio.ui.models.device_history import DeviceHistory
from gpu_studio.ui.models.who import run_of

FULL = 0.95
NEAR_SLOWDOWN_C = 5
IDLE_SECONDS, IDLE_PERCENT = 60.0, 1.0
MOST_EVENTS = 1000
HARMLESS = frozenset({"idle", "application clocks", "display clocks", "sync boost"})
"""Reasons for lower clocks that are nothing to be told of."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, at a time in seconds since 1970. `device` is a card's name, or empty."""

    time: float
    device: str
    words: str
    bad: bool = False


class EventLog:
    """The latest thousand events. What lasts, such as a card that is full, is told once, when it begins."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._lasting: set[tuple[str, str]] = set()
        self._taken = (0.0, 0.0)

    def take(self, picture: Picture, history: DeviceHistory) -> bool:
        """Add what is new; whether anything was."""
        before = self.events[-1:] if self.events else []
        self._take_told(picture)
        now: set[tuple[str, str]] = set()
        for place, card in enumerate(picture.cards.values()):
            for kind, words, bad in lasting(card, picture, history):
                now.add((card.facts.card, kind))
                if (card.facts.card, kind) not in self._lasting:
                    self.events.append(Event(picture.time, f"GPU {place}", words, bad))
        self._lasting = now
        del self.events[:-MOST_EVENTS]
        return self.events[-1:] != before

    def _take_told(self, picture: Picture) -> None:
        happened, owned = self._taken
        keys = list(picture.cards)
        new = [event for event in picture.events if event.time > happened]
        notes = [note for note in picture.notes if note.time > owned]
        for event in new:
            name = f"GPU {keys.index(event.card)}" if event.card in keys else "a card"
            self.events.append(Event(event.time, name, event.words, bad=True))
        self.events += [Event(note.time, "", note.words, bad=True) for note in notes]
        self._taken = (
            max([happened, *(event.time for event in new)]),
            max([owned, *(note.time for note in notes)]),
        )


def lasting(card: CardNow, picture: Picture, history: DeviceHistory) -> Iterator[tuple[str, str, bool]]:
    """What holds of a card now and is worth telling: its kind, the words, and whether it is bad."""
    if card.facts.gone:
        yield "gone", card.facts.gone, not card.facts.asleep
        return
    used, total = card.figure("memory_used_mib"), card.figure("total_mib")
    reserved = card.figure("memory_reserved_mib") or 0
    if isinstance(used, int) and isinstance(total, int) and isinstance(reserved, int) and total:
        share = (used + reserved) / total
        if share > FULL:
            yield "full", f"its memory is {share:.0%} full: an allocation may fail", False
    temperature, slowdown = card.figure("temperature_c"), card.figure("slowdown_c")
    if isinstance(temperature, int) and isinstance(slowdown, int) and temperature >= slowdown - NEAR_SLOWDOWN_C:
        yield "hot", f"{temperature} °C: it slows itself down at {slowdown} °C", False
    throttle = card.figure("throttle")
    held = [words for words in throttle if words not in HARMLESS] if isinstance(throttle, list) else []
    if held:
        yield f"held by {held}", f"its clocks are held down by: {', '.join(held)}", False
    run = _run_on(card, picture)
    if run and history.was_idle(card.facts.card, IDLE_SECONDS, IDLE_PERCENT):
        yield "idle", f"idle for a minute, while {run} holds it: is the data too slow?", False


def _run_on(card: CardNow, picture: Picture) -> str:
    processes = picture.processes.processes if picture.processes else []
    return next((name for each in processes if each.card == card.facts.card and (name := run_of(each))), "")
