"""Read the visible part of a run again where its curves were thinned.

Every point of that part is then shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.contract import Slices
from gpu_studio.runs.reading.event_file import (
    Bookmarks,
    LinesAgain,
    StretchReader,
    UnreadLines,
)
from gpu_studio.runs.reading.series import Near, Series
from gpu_studio.ui.train.card_record import CardFigures, samples_in
from gpu_studio.ui.train.live_run import LiveRun

MOST_STEPS: Final = 200_000
"""Steps in sight from which on none of them is read again.

What is kept of so many is more than a screen can show.
"""
MOST_BYTES: Final = 32 * 1024 * 1024
ENOUGH: Final = 1 << 12
"""Points of a curve of a device kept in sight that are enough, thinned or not."""
PAUSE_MS: Final = 60
"""A hand that turns the wheel looks somewhere else so often."""
SLICE_MS: Final = 4
LONG_MS: Final = 200
"""What takes no longer needs no word."""
_BESIDE: Final = 0.5
_NEARER: Final = 4.0
Pair = tuple[Series, Series | None]


class _Reading(Protocol):
    """One file that is being read again."""

    @property
    def complete(self) -> bool: ...

    def read(self, limit: int) -> bool: ...


class CloseUp(QObject):
    """Reads what `look` asks for on this thread, in slices of a few milliseconds.

    The result is put near the run's series. It extends half a window further on either side, so
    that a little panning finds everything there. `changed` says that something was added or removed
    near the series; `revision` counts these changes. `waits` says that it takes long enough to be
    shown, and when it no longer does.
    """

    changed = Signal()
    waits = Signal(bool)

    def __init__(self, run: LiveRun, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.revision = 0
        self._run = run
        self._asked: tuple[float, float] | None = None
        self._near: tuple[float, float] | None = None
        self._held: list[Series] = []
        self._work: Iterator[bool] | None = None
        self._slices = Slices(SLICE_MS)
        self._long = QTimer(self)
        self._long.setSingleShot(True)
        self._long.timeout.connect(lambda: self.waits.emit(True))
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._go_on)

    @property
    def busy(self) -> bool:
        """Whether something is being waited for."""
        return self._timer.isActive()

    def look(self, start: float, end: float) -> None:
        """Read this part of the run, in seconds since 1970."""
        if not self._is_wanted(start, end):
            self._stop()
            self._drop()
            return
        if _covers(self._asked, start, end) if self.busy else self._knows(start, end):
            return
        beside = _BESIDE * (end - start)
        self._asked, self._work = (start - beside, end + beside), None
        if not self.busy:
            self._long.start(LONG_MS)
        self._timer.start(PAUSE_MS)

    def close(self) -> None:
        """Stop reading, and release what is near."""
        self._stop()
        self._drop()

    def _stop(self) -> None:
        if self.busy:
            self._timer.stop()
            self._long.stop()
            self.waits.emit(False)
        self._asked = self._work = None

    def _is_wanted(self, start: float, end: float) -> bool:
        losses = self._run.history.losses
        if _between(losses, start, end) > MOST_STEPS:
            return False
        thinned = (each for each in self._of_devices() if not each.is_whole(start, end))
        return not losses.is_whole(start, end) or any(
            each.count(start, end) < ENOUGH for each in thinned
        )

    def _knows(self, start: float, end: float) -> bool:
        """Return whether there is nothing more to read.

        Over a longer time, what was read may have been thinned again.
        """
        if self._near is None or not _covers(self._near, start, end):
            return False
        found = (series.near for series in self._held)
        wide = end - start > (self._near[1] - self._near[0]) / _NEARER
        return wide or all(near is None or near.series.is_whole(start, end) for near in found)

    def _of_devices(self) -> Iterator[Series]:
        memory, figures = self._run.history.memory.values(), self._run.record.figures
        return chain((each.series for each in memory), figures.all.values())

    def _go_on(self) -> None:
        if self._asked is None:
            return
        self._timer.setInterval(0)
        if self._work is None:
            self._work = self._read(*self._asked)
        if next(self._work, None) is None:
            self._near = self._asked
            self._stop()

    def _read(self, start: float, end: float) -> Iterator[bool]:
        """Read both files, with a pause after each slice.

        What is found is put near the series as soon as its file is read.
        """
        run = self._run
        events = _lines(run.run.events_file, run.bookmarks, start, end)
        if events is not None:
            stretch = StretchReader(run.run.events_file, events, start, end)
            yield from self._all_of(stretch)
            if stretch.complete:
                self._show(
                    self._pairs_of_events(stretch), start, end, to_the_end=events.until is None
                )
        recorded = _lines(run.record.path, run.record.bookmarks, start, end)
        if recorded is not None:
            cards = _Cards(run.record.path, recorded, start, end)
            yield from self._all_of(cards)
            if cards.complete:
                self._show(
                    self._pairs_of_cards(cards.figures),
                    start,
                    end,
                    to_the_end=recorded.until is None,
                )
        if self._near != self._asked:
            self._drop()

    def _all_of(self, reading: _Reading) -> Iterator[bool]:
        more = [True]

        def read(size: int) -> bool:
            more[0] = reading.read(size)
            return more[0]

        while more[0]:
            try:
                self._slices.read(read)
            except (
                OSError
            ):  # a file that is gone is reported where it is followed; what was kept of it stays
                return
            yield True

    def _pairs_of_events(self, stretch: StretchReader) -> Iterator[Pair]:
        history, again = self._run.history, stretch.history
        yield history.losses, again.losses
        yield history.learning_rates, again.learning_rates
        for device, series in history.memory.items():
            read = again.memory.get(device)
            yield series.series, read.series if read else None
            yield series.floor, read.floor if read else None

    def _pairs_of_cards(self, figures: CardFigures) -> Iterator[Pair]:
        for (key, figure), series in self._run.record.figures.all.items():
            yield series, figures.series(key, figure)

    def _show(self, found: Iterable[Pair], start: float, end: float, *, to_the_end: bool) -> None:
        if self._near != self._asked:
            self._let_go()
            self._near = self._asked
        for series, again in found:
            if again is not None and len(again):
                # The series itself has what comes after the newest that was read.
                series.near = Near(
                    start, min(end, float(again.x[-1])) if to_the_end else end, again
                )
                self._held.append(series)
        self._tell()

    def _drop(self) -> None:
        if self._held:
            self._let_go()
            self._tell()
        self._near = None

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for series in held:
            series.near = None

    def _tell(self) -> None:
        self.revision += 1
        self.changed.emit()


class _Cards:
    """Reads the machine's recorded samples again, from `start` to `end`."""

    def __init__(self, path: Path, place: UnreadLines, start: float, end: float) -> None:
        self.figures = CardFigures()
        self._start, self._end = start, end
        self._clock = place.begin.clock
        self._lines = LinesAgain(path, place)

    @property
    def complete(self) -> bool:
        return self._lines.complete

    def read(self, limit: int) -> bool:
        lines, more = self._lines.read(limit)
        reported = samples_in(lines, self._clock)
        self.figures.add(sample for sample in reported if self._start <= sample.time <= self._end)
        return more


def _lines(path: Path, bookmarks: Bookmarks, start: float, end: float) -> UnreadLines | None:
    """Return what has to be read; None if it is too much, or there is no file."""
    place = bookmarks.around(start, end)
    try:
        return place if place.bytes(path.stat().st_size) <= MOST_BYTES else None
    except OSError:
        return None


def _between(steps: Series, start: float, end: float) -> float:
    """Return how many steps were trained in this time, as far as that is known."""
    times, numbers = steps.column("time"), steps.column("step")
    if not len(times):
        return 0.0
    first, last = (min(int(times.searchsorted(moment)), len(times) - 1) for moment in (start, end))
    return float(numbers[last] - numbers[first])


def _covers(known: tuple[float, float] | None, start: float, end: float) -> bool:
    return known is not None and known[0] <= start and end <= known[1]
