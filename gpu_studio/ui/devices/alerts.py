"""Alerts about the devices: what happened to them, and what came near a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gpu_studio.hardware.alerts import IDLE_PERCENT, Alert, Watched, alerts
from gpu_studio.hardware.device_rows import run_of
from gpu_studio.hardware.picture import CardNow, MachinePicture

if TYPE_CHECKING:
    from gpu_studio.hardware.device_history import DeviceHistory
    from gpu_studio.ui.machine.sampler import SamplerClient

MOST_EVENTS = 1000


@dataclass(frozen=True, slots=True)
class MachineEvent:
    """Something that happened, at a time in seconds since 1970.

    `device` is a card's name, or empty.
    """

    time: float
    device: str
    words: str
    bad: bool = False


class EventLog:
    """The latest thousand events.

    A lasting condition, such as a full card, is reported once, when it begins.
    """

    def __init__(self) -> None:
        self.events: list[MachineEvent] = []
        self._lasting: set[tuple[str, str, str]] = set()
        self._taken = (0.0, 0.0)

    def take(self, picture: MachinePicture, history: DeviceHistory) -> list[MachineEvent]:
        """Add what is new, and return it."""
        new = [*self._reported(picture), *self._begun(picture, history)]
        self.events += new
        del self.events[:-MOST_EVENTS]
        return new

    def _reported(self, picture: MachinePicture) -> Iterator[MachineEvent]:
        happened, owned = self._taken
        befallen = [event for event in picture.events if event.time > happened]
        notes = [note for note in picture.notes if note.time > owned]
        names = _names(picture)
        yield from (
            MachineEvent(each.time, names.get(each.card, "a card"), each.words, bad=True)
            for each in befallen
        )
        yield from (MachineEvent(note.time, "", note.words, bad=True) for note in notes)
        self._taken = (
            max([happened, *(event.time for event in befallen)]),
            max([owned, *(note.time for note in notes)]),
        )

    def _begun(self, picture: MachinePicture, history: DeviceHistory) -> Iterator[MachineEvent]:
        now: set[tuple[str, str, str]] = set()
        names = _names(picture)
        for key, alert in _lasting(picture, history):
            mark = (key, alert.kind, alert.key)
            now.add(mark)
            if mark not in self._lasting:
                yield MachineEvent(picture.time, names[key], alert.words, alert.bad)
        self._lasting = now


class AlertWatch(QObject):
    """Keeps the log whenever the sampler reports anything, whether or not a page shows it.

    `reported(events)` fires with what is new.
    """

    reported = Signal(list)

    def __init__(self, sampler: SamplerClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.log = EventLog()
        self._sampler = sampler
        sampler.noticed.connect(self._take)

    def _take(self) -> None:
        new = self.log.take(self._sampler.picture, self._sampler.history)
        if new:
            self.reported.emit(new)


def _lasting(picture: MachinePicture, history: DeviceHistory) -> Iterator[tuple[str, Alert]]:
    """Return the present conditions of each card, and then of its parts."""
    runs = _runs(picture)
    for key, card in picture.cards.items():
        watched = Watched(card, runs.get(key, ""), history.idle_seconds(key, IDLE_PERCENT))
        yield from ((key, alert) for alert in alerts(watched))
    for key, part in picture.instances.items():
        if not part.facts.gone:
            yield from ((key, alert) for alert in alerts(Watched(part)))


def _runs(picture: MachinePicture) -> dict[str, str]:
    """Return the run on each card that has one."""
    reported = picture.processes.processes if picture.processes else []
    return {each.card: name for each in reported if (name := run_of(each))}


def _names(picture: MachinePicture) -> dict[str, str]:
    names: dict[str, str] = {}
    for place, (key, card) in enumerate(picture.cards.items()):
        names[key] = f"GPU {place}"
        names |= {part: f"GPU {place} {words}" for part, words in _parts(card)}
    return names


def _parts(card: CardNow) -> Iterator[tuple[str, str]]:
    yield from ((part.card, part.name.rpartition("MIG ")[2]) for part in card.facts.instances)
