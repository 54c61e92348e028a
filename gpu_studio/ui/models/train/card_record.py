"""What the sampler recorded beside a run: its `hardware.jsonl`, read as it grows and once more after the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.hardware.picture import Picture
from gpu_studio.hardware.samples import AnySample, CardFacts, Cards, SampleError, decode
from gpu_studio.runs.reading.bookmarks import Bookmarks
from gpu_studio.runs.reading.lines import LineTail
from gpu_studio.steady import SteadyClock
from gpu_studio.ui.models.train.card_events import CardEvents
from gpu_studio.ui.models.train.card_figures import CardFigures
from gpu_studio.ui.models.train.slices import Slices

EVERY_MS: Final = 500
LAST_LOOK_MS: Final = 1500
"""The sampler looks once a second whether the trainer lives, and so writes a little longer than that does."""
SLICE_MS: Final = 4
# The other kinds hold nothing that is drawn, and the processes alone are most of the file.
_KINDS: Final = ("started", "cards", "fast", "slow", "happened", "host")
_WANTED: Final = tuple(f'{{"sample":"{kind}"'.encode() for kind in _KINDS)


class CardRecord(QObject):
    """Follows the recording in slices of a few milliseconds, so that one of days opens without the window standing.

    `picture` is the newest, `figures` the curves, `events` what befell the cards, `known` every card and MIG instance
    that was ever told of, by the key that samples have. `caught_up` says that all there is has been read, and some of
    it was new. Where the file cannot be read, following ends, and `problem` says why. One that is not there (yet) is
    no problem.
    """

    caught_up = Signal()

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.picture = Picture()
        self.figures = CardFigures()
        self.events = CardEvents()
        self.known: dict[str, CardFacts] = {}
        self.revision = 0
        self.problem = ""
        self.over = False
        self._told_revision = 0
        self._ending = False
        self.path = path
        self.bookmarks = Bookmarks()
        self._tail = LineTail(path)
        self._slices = Slices(SLICE_MS)
        # Like that of the events, so that the curves of both stand above each other whatever is done to the clock.
        self._clock = SteadyClock()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._read)
        self._last_look = QTimer(self)
        self._last_look.setSingleShot(True)
        self._last_look.timeout.connect(self._look_last)

    @property
    def reading(self) -> bool:
        """Whether there is more to read than has been read yet."""
        return self._timer.isActive() and self._timer.interval() == 0

    @property
    def empty(self) -> bool:
        """Whether no figure was recorded so far."""
        return self.figures.first is None

    def start(self) -> None:
        """Begin to read, with the event loop's next turn."""
        self._timer.start(0)

    def finish(self) -> None:
        """The run is over: read what the sampler still writes, and then no more."""
        self._last_look.start(LAST_LOOK_MS)

    def close(self) -> None:
        """Read no more."""
        self._timer.stop()
        self._last_look.stop()

    def take(self, *told: AnySample) -> None:
        """Take in samples, in their order."""
        self.revision += len(told)
        self.figures.add(told)
        self.events.add(told)
        for sample in told:
            self.picture.apply(sample)
            if isinstance(sample, Cards):
                self._know(sample.cards)

    def _know(self, cards: Iterable[CardFacts]) -> None:
        for card in cards:
            self.known[card.card] = card
            for part in card.instances:
                self.known[part.card] = CardFacts(card=part.card, uuid=part.card, name=part.name)

    def _look_last(self) -> None:
        self._ending = True
        self._timer.start(0)

    def _read(self) -> None:
        try:
            self._slices.read(self._read_chunk)
        except OSError as error:
            self.problem = f"the recording cannot be read: {error.strerror or error}"
            self.revision += 1
            self._end()
            return
        if self._tail.waiting:
            self._timer.setInterval(0)
        elif self._ending:
            self._end()
        else:
            self._timer.setInterval(EVERY_MS)
            self._tell()

    def _read_chunk(self, size: int) -> bool:
        self.take(*samples_in(self._tail.read(size), self._clock))
        self.bookmarks.note(self._clock, self._tail.told)
        return self._tail.waiting

    def _end(self) -> None:
        self.close()
        self.over = True
        # That there is nothing more to wait for is new, even where no figure is.
        self.revision += 1
        self._tell()

    def _tell(self) -> None:
        if self.revision != self._told_revision:
            self._told_revision = self.revision
            self.caught_up.emit()


def samples_in(lines: Iterable[bytes], clock: SteadyClock) -> Iterator[AnySample]:
    """What is drawn of the samples in these lines, by the times of this clock."""
    for line in lines:
        if line.startswith(_WANTED):
            # What is no sample is half a line, as a full disk leaves it.
            with suppress(SampleError):
                if (sample := decode(line)) is not None:
                    time = clock.at(sample.time, sample.steady)
                    yield sample if time == sample.time else replace(sample, time=time)
