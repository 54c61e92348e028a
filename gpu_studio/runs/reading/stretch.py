"""Read a part of a run's events again, for every point of curves that were thinned there."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gpu_studio.contract.events import AnyEvent, Steps, decode
from gpu_studio.contract.lines import LineTail
from gpu_studio.runs.reading.bookmarks import UnreadLines
from gpu_studio.runs.reading.history import History

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
