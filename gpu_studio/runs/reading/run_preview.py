"""Preview a long event file: its beginning, its end, and a few lines at many places between.

The preview is real but sparse: enough for the shape of every curve and for the newest figures,
while the file is still being read in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Final

from gpu_studio.common.regular_files import opened
from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract.events import (
    AnyEvent,
    Failed,
    Finished,
    State,
    StateChanged,
    Steps,
    decode,
)
from gpu_studio.runs.reading.bookmarks import Bookmark
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.pace import Pace

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

    def look_at_ends(self) -> None:
        """Read the beginning and the end, without which nothing is known. Raises OSError."""
        while len(self._seen) < _ENDS and self.look():
            pass

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
