"""The samples recorded beside a run, and the curves that its cards and the host make of them.

Its `hardware.jsonl` is read as it grows, and once more after the end: on the window's thread,
in slices of a few milliseconds, so that the window never blocks.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import LineTail, Slices
from gpu_studio.contract.samples import (
    AnySample,
    CardFacts,
    Cards,
    Happened,
    SampleError,
    Slow,
    decode,
)
from gpu_studio.hardware.alerts import HARMLESS
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.hardware.sample_points import Figure, run_points
from gpu_studio.runs.reading.event_file import Bookmarks
from gpu_studio.runs.reading.series import Series

LONGEST_SILENCE: Final = 30.0
"""Seconds without a word about a card after which nobody knows whether its clocks are still held
down.
"""
MOST_KEPT: Final = 4096


@dataclass(slots=True)
class ClocksHeld:
    """A card's clocks were held down by `reason` from `start` to `end`, in seconds since 1970."""

    card: str
    reason: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class HeldTogether:
    """The same for cards whose clocks were held down together; `cards` are their keys."""

    cards: tuple[str, ...]
    reason: str
    start: float
    end: float


class CardEvents:
    """Takes samples in order, and keeps the newest thousands of events.

    `revision` changes with them.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.happened: deque[Happened] = deque(maxlen=MOST_KEPT)
        self.held: deque[ClocksHeld] = deque(maxlen=MOST_KEPT)
        self._open: dict[tuple[str, str], ClocksHeld] = {}

    def add(self, samples: Iterable[AnySample]) -> None:
        """Take in what samples report; those of another kind change nothing."""
        for sample in samples:
            match sample:
                case Happened():
                    self.revision += 1
                    self.happened.append(sample)
                case Slow():
                    for card in sample.cards:
                        if card.throttle is not None:
                            self._hold(card.card, set(card.throttle) - HARMLESS, sample.time)

    def together(self, cards: Mapping[str, object]) -> list[HeldTogether]:
        """Return when the clocks of any of these cards were held down, by reason, in order."""
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
        """Extend what still holds, end what does not, begin what is new."""
        for key in [key for key in self._open if key[0] == card]:
            held = self._open[key]
            near = time - held.end <= LONGEST_SILENCE
            if near:
                held.end = max(held.end, time)
                self.revision += 1
            if key[1] not in reasons or not near:
                del self._open[key]
        for reason in sorted(reasons):
            if (card, reason) not in self._open:
                self.revision += 1
                self._open[card, reason] = held = ClocksHeld(card, reason, time, time)
                self.held.append(held)


EVERY_MS: Final = 500
LAST_LOOK_MS: Final = 1500
"""The sampler looks once a second whether the trainer lives, and so writes a little longer than
that does.
"""
SLICE_MS: Final = 4
# The other kinds contain nothing to draw, and the processes alone are most of the file.
_KINDS: Final = ("started", "cards", "fast", "slow", "happened", "host")
_WANTED: Final = tuple(f'{{"sample":"{kind}"'.encode() for kind in _KINDS)


class CardRecord(QObject):
    """Follows the recording in slices of a few milliseconds, which never block the window.

    `picture` is the newest, `figures` the curves, `events` what happened to the cards, `known`
    every card and MIG instance ever reported, by the key that samples have. `caught_up` says that
    everything has been read, and some of it was new. Where the file cannot be read, following ends,
    and `problem` says why. A file that does not exist (yet) is no problem.
    """

    caught_up = Signal()

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.picture = MachinePicture()
        self.figures = CardFigures()
        self.events = CardEvents()
        self.known: dict[str, CardFacts] = {}
        self.revision = 0
        self.problem = ""
        self.over = False
        self._reported_revision = 0
        self._ending = False
        self.path = path
        self.bookmarks = Bookmarks()
        self.tail = LineTail(path)
        self._slices = Slices(SLICE_MS)
        # Like that of the events, so that both curves stay aligned when the system clock is
        # changed.
        self._clock = SteadyClock()
        self.timer = QTimer(self)
        self.timer.timeout.connect(self._read)
        self._last_look = QTimer(self)
        self._last_look.setSingleShot(True)
        self._last_look.timeout.connect(self._look_last)

    @property
    def reading(self) -> bool:
        """Whether there is more to read."""
        return self.timer.isActive() and self.timer.interval() == 0

    @property
    def empty(self) -> bool:
        """Whether no figure has been recorded so far."""
        return self.figures.first is None

    def start(self) -> None:
        """Begin to read, with the event loop's next turn."""
        self.timer.start(0)

    def finish(self) -> None:
        """End with the run: read what the sampler still writes, and then stop."""
        self._last_look.start(LAST_LOOK_MS)

    def close(self) -> None:
        """Stop reading."""
        self.timer.stop()
        self._last_look.stop()

    def take(self, *samples: AnySample) -> None:
        """Take in samples, in their order."""
        self.revision += len(samples)
        self.figures.add(samples)
        self.events.add(samples)
        for sample in samples:
            self.picture.apply(sample)
            if isinstance(sample, Cards):
                self._know(sample.cards)

    def _know(self, cards: Iterable[CardFacts]) -> None:
        for card in cards:
            self.known[card.card] = card
            for part in card.instances:
                self.known[part.card] = CardFacts(
                    card=part.card, uuid=part.card, name=part.name, gone=card.lost
                )

    def _look_last(self) -> None:
        self._ending = True
        self.timer.start(0)

    def _read(self) -> None:
        try:
            self._slices.read(self._read_chunk)
        except OSError as error:
            self.problem = f"the recording cannot be read: {error.strerror or error}"
            self.revision += 1
            self._end()
            return
        if self.tail.waiting:
            self.timer.setInterval(0)
        elif self._ending:
            self._end()
        else:
            self.timer.setInterval(EVERY_MS)
            self._tell()

    def _read_chunk(self, size: int) -> bool:
        self.take(*samples_in(self.tail.read(size), self._clock))
        self.bookmarks.note(self._clock, self.tail.position)
        return self.tail.waiting

    def _end(self) -> None:
        self.close()
        self.over = True
        # The end of the wait is news, even without new figures.
        self.revision += 1
        self._tell()

    def _tell(self) -> None:
        if self.revision != self._reported_revision:
            self._reported_revision = self.revision
            self.caught_up.emit()


def samples_in(lines: Iterable[bytes], clock: SteadyClock) -> Iterator[AnySample]:
    """Return what is drawn of the samples in these lines, by the times of this clock."""
    for line in lines:
        if line.startswith(_WANTED):
            # A line that is no sample is cut off, as a full disk leaves it.
            with suppress(SampleError):
                if (sample := decode(line)) is not None:
                    time = clock.at(sample.time, sample.steady)
                    yield sample if time == sample.time else replace(sample, time=time)


MOST_POINTS: Final = 1 << 14
"""A curve keeps the newest hour of seconds whole, and takes 0.25 MiB at most."""
LONGEST_GAP: Final = 15.0
"""Seconds after which a figure says nothing of a moment any more, and a curve is broken."""


class CardFigures:
    """A series of time (seconds since 1970) and value for each card, or the host, and figure.

    Memory is in bytes, utilisation in percent, power in watts. Unlike the window's own history,
    which forgets what is older than a day, this reaches back to the beginning of the run, however
    long that was.
    """

    def __init__(self) -> None:
        self.first: float | None = None
        self.last = 0.0
        self._series: dict[tuple[str, Figure], Series] = {}
        self._newest: dict[tuple[str, Figure], tuple[float, float]] = {}
        self._lost: dict[str, float] = {}

    def add(self, samples: Iterable[AnySample]) -> None:
        """Add the figures of samples, which is cheaper together.

        Samples without figures are ignored.
        """
        points: dict[tuple[str, Figure], tuple[list[float], list[float]]] = {}
        for sample in samples:
            if isinstance(sample, Cards):
                self._note_lost(sample)
            for key, figure, value in run_points(sample):
                if value is None:
                    continue
                if (found := points.get((key, figure))) is None:
                    found = points[key, figure] = ([], [])
                found[0].append(sample.time)
                found[1].append(value)
        for curve, (times, values) in points.items():
            self._of(*curve).add(times, values)
            since, _ = self._newest.get(curve, (-math.inf, 0.0))
            self._newest[curve] = max(since, *times), values[-1]
            self.first = times[0] if self.first is None else self.first
            self.last = max(self.last, times[-1])

    def series(self, key: str, figure: Figure) -> Series | None:
        """Return the curve of a card; None if it has never reported this figure."""
        return self._series.get((key, figure))

    @property
    def all(self) -> dict[tuple[str, Figure], Series]:
        """Every existing curve, by card and figure."""
        return self._series

    def has(self, figure: Figure, keys: Iterable[str]) -> bool:
        """Return whether any of these cards has reported this figure."""
        return any((key, figure) in self._series for key in keys)

    def longest_gap(self, key: str, figure: Figure) -> float:
        """The seconds without a figure that make a gap: more where points were thinned."""
        series = self.series(key, figure)
        return LONGEST_GAP * (series.group if series else 1)

    def value_at(self, key: str, figure: Figure, time: float) -> float | None:
        """Return the newest value up to a moment.

        None if there was none, none for so long that it is a gap, or the card is lost by then.
        """
        series = self.series(key, figure)
        if series is None or time >= self._lost.get(key, math.inf):
            return None
        since, newest = self._newest[key, figure]
        if time >= since:  # asked of every card in each frame with figures
            return newest if time - since <= self.longest_gap(key, figure) else None
        series = series.nearest(time)
        times = series.column("time")
        place = int(times.searchsorted(time, side="right")) - 1
        if place < 0 or time - float(times[place]) > self.longest_gap(key, figure):
            return None
        return float(series.column("value")[place])

    def _note_lost(self, sample: Cards) -> None:
        """Remember since when a card answers no more."""
        for card in sample.cards:
            for key in (card.card, *(part.card for part in card.instances)):
                if not card.lost:
                    self._lost.pop(key, None)
                else:
                    self._lost.setdefault(key, sample.time)

    def _of(self, key: str, figure: Figure) -> Series:
        found = self._series.get((key, figure))
        if found is None:
            found = self._series[key, figure] = Series(
                "time", "value", by="value", along="time", most=MOST_POINTS
            )
        return found
