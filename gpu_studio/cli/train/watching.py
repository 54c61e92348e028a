"""What a person who follows a run in a terminal should see to, told when it begins and when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from gpu_studio.cli.train.sinks import Sink
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.failures.full_disk import has_no_room
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.warnings import Concern, concerns_of
from gpu_studio.runs.warnings_cards import CardWatch

EVERY_SECONDS: Final = 1.0


class Watch:
    """Looks at a live run, at most once a second. What the trainer itself warns of is an event, and not told here."""

    def __init__(self, run: RunDirectory, sink: Sink, clock: Callable[[], float] = time.time) -> None:
        self._folder = run.path
        self._cards = CardWatch(run.hardware_file)
        self._sink, self._clock = sink, clock
        self._looked = 0.0
        self._standing: tuple[Concern, ...] = ()

    def look(self, history: History) -> None:
        """Tell what is new since the last time."""
        now = self._clock()
        if 0 <= now - self._looked < EVERY_SECONDS:
            return
        self._looked = now
        self._cards.read()
        cards = self._cards.sights(history.devices, now)
        before, full = self._standing, has_no_room(self._folder)
        moment = history.time_of(now)
        self._standing = concerns_of(history, cards, now=moment, before=before, disk_full=full)
        self._tell(before)

    def _tell(self, before: tuple[Concern, ...]) -> None:
        known, standing = ({each.key for each in some} for some in (before, self._standing))
        for concern in self._standing:
            if concern.key not in known and not concern.told:
                self._sink.message(f"warning: {concern.said}")
        for concern in before:
            if concern.key not in standing and not concern.told:
                self._sink.message(f"over: {concern.text}")
