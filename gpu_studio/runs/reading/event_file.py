"""Read parts of a run's event file: only its beginning, or excerpts of a long one.

Bookmarks of time are noted while a long file is read, so that a part of it can be read again in
full, with every point of curves that were thinned there. A preview reads the beginning, the end,
and a few lines at many places between: enough for the shape of every curve and for the newest
figures, while the file is still being read in order.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from gpu_studio.common.safe_files import opened
from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import (
    AnyEvent,
    Failed,
    Finished,
    LineTail,
    RunDirectory,
    State,
    StateChanged,
    Steps,
)
from gpu_studio.contract.events import Event, decode
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.progress import Pace

MOST_BYTES: Final = 16 << 20
"""In so many bytes come devices, model, placement and timeline, even for the largest models."""
E = TypeVar("E", bound=Event)


def first_of(run: RunDirectory, kind: type[E], most: int = MOST_BYTES) -> E | None:
    """The first event of this kind in the first `most` bytes; None if there is none (yet).

    Raises OSError if the events cannot be read.
    """
    begins = f'{{"event":"{kind.__struct_config__.tag}"'.encode()
    read = 0
    for line in LineTail(run.events_file).read_all():
        event = decode(line) if line.startswith(begins) else None
        if isinstance(event, kind):
            return event
        read += len(line)
        if read > most:
            break
    return None


MOST_BOOKMARKS: Final = 4096
APART: Final = 256 * 1024
"""Bytes between two bookmarks, at first: of a longer file there are fewer for each of them."""
_OFFSET, _TIME = attrgetter("offset"), attrgetter("time")


class Bookmark(NamedTuple):
    """No line before byte `offset` has a later `time`, and none after it an earlier one.

    Times are those of a `SteadyClock`, in seconds since 1970; `left` is its state after the lines
    before.
    """

    time: float
    offset: int
    left: SteadyClock

    @property
    def clock(self) -> SteadyClock:
        """A clock for reading on from here."""
        return copy(self.left)


class UnreadLines(NamedTuple):
    """The part to read: from a bookmark up to the byte `until`; None: to the end of the file."""

    begin: Bookmark
    until: int | None

    def bytes(self, size: int) -> int:
        """The number of bytes, in a file of `size` bytes."""
        return (size if self.until is None else self.until) - self.begin.offset


class Bookmarks:
    """Sorted bookmarks: at most 4,096 however long the file. Later ones can be added in advance."""

    def __init__(self) -> None:
        self._kept: list[Bookmark] = [Bookmark(-math.inf, 0, SteadyClock())]
        self._ahead: list[Bookmark] = []
        self._apart = APART

    def note(self, clock: SteadyClock, offset: int) -> None:
        """Record that a line begins at this byte, with the clock as the lines before left it."""
        if offset - self._kept[-1].offset >= self._apart:
            self._kept.append(Bookmark(clock.newest, offset, copy(clock)))
            if len(self._kept) > MOST_BOOKMARKS:
                self._kept, self._apart = self._kept[::2], 2 * self._apart

    def foresee(self, ahead: Iterable[Bookmark]) -> None:
        """Use these sorted bookmarks for the unread part.

        They need not be exactly at line starts.
        """
        self._ahead = list(ahead)

    def around(self, start: float, end: float) -> UnreadLines:
        """The part to read to know everything from `start` to `end`.

        It includes one bookmark more: a line may report what happened shortly before its time.
        """
        marks = [
            *self._kept,
            *self._ahead[bisect_right(self._ahead, self._kept[-1].offset, key=_OFFSET) :],
        ]
        begin = max(bisect_left(marks, start, key=_TIME) - 1, 0)
        after = bisect_right(marks, end, key=_TIME) + 1
        return UnreadLines(marks[begin], marks[after].offset if after < len(marks) else None)


SMALLEST: Final = 8 * 1024 * 1024
"""Bytes of a file below which it is read so soon that looking ahead is not worth while."""
PLACES: Final = 512
_ENDS: Final = 2
_END_BYTES: Final = 512 * 1024
_PIECE_BYTES: Final = 8 * 1024
_LONGEST_PIECE: Final = 256 * 1024
_MOST_BYTES: Final = 24 * 1024 * 1024


class RunPreview:
    """Reads one piece per `look`: first both ends, then places that halve the remaining gaps.

    So it can be stopped at any time, with an even coverage.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = path.stat().st_size
        self._seen: dict[int, list[AnyEvent]] = {}
        self._places = self._spread()
        self._bytes = 0
        # Longer pieces would overlap the next, and some lines would be read twice.
        self._longest = max(
            min((self._size - 2 * _END_BYTES) // PLACES, _LONGEST_PIECE), _PIECE_BYTES
        )

    @property
    def lacks_an_end(self) -> bool:
        """Whether the beginning or the end is not read yet, without which nothing is known."""
        return len(self._seen) < _ENDS

    def look(self) -> bool:
        """Read the next piece; False if there was none left to read. Raises OSError."""
        place = next(self._places, None)
        if place is None or self._bytes > _MOST_BYTES:
            return False
        offset, length = place
        with opened(self._path) as file:
            self._seen[offset] = self._events_at(file.fileno(), offset, length)
        return True

    def history(self) -> History:
        """The preview as a history of few events; its pace is that of the end."""
        history = History()
        *before, last = (self._seen[offset] for offset in sorted(self._seen))
        history.apply_all(chain.from_iterable(before))
        # Hours may lie between distant places, without a pause or an end of an epoch.
        history.pace = Pace()
        history.apply_all(last)
        return history

    @property
    def bookmarks(self) -> list[Bookmark]:
        """The bookmarks found by the preview, in order."""
        clock = SteadyClock()
        first = (
            (offset, self._seen[offset][0]) for offset in sorted(self._seen) if self._seen[offset]
        )
        return [
            Bookmark(clock.at(event.time, event.elapsed), offset, copy(clock))
            for offset, event in first
        ]

    @property
    def steps(self) -> list[Steps]:
        """The calls found by the preview, in order."""
        seen = (event for offset in sorted(self._seen) for event in self._seen[offset])
        return [event for event in seen if isinstance(event, Steps)]

    @property
    def state(self) -> State | None:
        """The state at the end of the file; None if it gives none."""
        return next(
            (state for event in reversed(self._seen[max(self._seen)]) if (state := _state(event))),
            None,
        )

    def _spread(self) -> Iterator[tuple[int, int]]:
        end = self._size - _END_BYTES
        yield 0, _END_BYTES
        yield end, _END_BYTES
        for number in range(1, PLACES):
            yield _END_BYTES + int((end - _END_BYTES) * mirrored(number)), _PIECE_BYTES

    def _events_at(self, descriptor: int, offset: int, length: int) -> list[AnyEvent]:
        """The events of the whole lines there; the piece is extended if there are none."""
        while True:
            piece = os.pread(descriptor, length, offset)
            self._bytes += len(piece)
            lines = piece.split(b"\n")[0 if offset == 0 else 1 : -1]
            if lines or length >= self._longest:
                return [event for line in lines if (event := decode(line)) is not None]
            length = min(4 * length, self._longest)


def mirrored(number: int) -> float:
    """The binary digits of a number mirrored behind the point (van der Corput's sequence).

    1/2, 1/4, 3/4, 1/8, 5/8.
    """
    digits = bin(number)[2:]
    return int(digits[::-1], 2) / (1 << len(digits))


def _state(event: AnyEvent) -> State | None:
    match event:
        case Finished() | Failed() | StateChanged():
            return event.state
        case Steps():
            return "running"
    return None


_KINDS: Final = ("steps", "memory", "learning_rate")
_WANTED: Final = tuple(f'{{"event":"{kind}"'.encode() for kind in _KINDS)


class LinesAgain:
    """The whole lines between two places of a file, read in bounded pieces."""

    def __init__(self, path: Path, place: UnreadLines) -> None:
        self._tail = LineTail(path, place.begin.offset)
        self._until = place.until

    @property
    def complete(self) -> bool:
        """Whether all lines were there: the file may have been cut or removed meanwhile."""
        return self._tail.offset >= (self._tail.size if self._until is None else self._until) > 0

    def read(self, limit: int) -> tuple[list[bytes], bool]:
        """The lines that end within the next `limit` bytes, and whether there are more.

        Raises OSError.
        """
        if self._until is not None:
            limit = min(limit, self._until - self._tail.offset)
        lines = self._tail.read(limit)
        return lines, self._tail.waiting and (
            self._until is None or self._tail.offset < self._until
        )


class StretchReader:
    """Reads events again into a `history` with every step and sample from `start` to `end`.

    Samples are those of memory and learning rate. Times are in seconds since 1970; calls that cross
    a boundary are included with all steps.
    """

    def __init__(self, path: Path, place: UnreadLines, start: float, end: float) -> None:
        self.history = History(place.begin.clock)
        self._start, self._end, self._clock = start, end, place.begin.clock
        self._lines = LinesAgain(path, place)

    @property
    def complete(self) -> bool:
        """Whether all of it was there."""
        return self._lines.complete

    def read(self, limit: int) -> bool:
        """Read at most `limit` bytes; whether there is more. Raises OSError."""
        lines, more = self._lines.read(limit)
        reported = (decode(line) for line in lines if line.startswith(_WANTED))
        self.history.apply_all(
            [event for event in reported if event is not None and self._is_inside(event)]
        )
        return more

    def _is_inside(self, event: AnyEvent) -> bool:
        time = self._clock.at(event.time, event.elapsed)
        began = time - event.seconds if isinstance(event, Steps) else time
        return began <= self._end and time >= self._start
