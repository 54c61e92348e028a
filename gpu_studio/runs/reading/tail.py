"""Read the events of a run as they are written."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.contract.events import AnyEvent, decode
from gpu_studio.contract.lines import READ_LIMIT, LineTail


class Tail:
    """Follows `events.jsonl`, even if it is missing, cut, or has garbage and unknown events.

    `skipped` counts the lines that held no event known to this version.
    """

    def __init__(self, path: Path) -> None:
        self._lines = LineTail(path)
        self._unknown = 0

    @property
    def waiting(self) -> bool:
        """Whether the last `read` left something to read."""
        return self._lines.waiting

    @property
    def share(self) -> float:
        """The part (0 to 1) of the file, as of the last check, that has been read."""
        return min(self._lines.offset / self._lines.size, 1.0) if self._lines.size else 0.0

    @property
    def position(self) -> int:
        """The byte offset of the first line that has not been read yet."""
        return self._lines.position

    @property
    def skipped(self) -> int:
        """How many lines were skipped."""
        return self._unknown + self._lines.overlong

    def read(self, limit: int = READ_LIMIT) -> list[AnyEvent]:
        """Return the events that became complete since the last read, from at most `limit` bytes.

        See `waiting`.
        """
        return [
            event for line in self._lines.read(limit) if (event := self._decode(line)) is not None
        ]

    def read_all(self) -> list[AnyEvent]:
        """Return the events that became complete since the last time, however many there are."""
        events = self.read()
        while self.waiting:
            events += self.read()
        return events

    def _decode(self, line: bytes) -> AnyEvent | None:
        if not line.strip():
            return None
        event = decode(line)
        self._unknown += event is None
        return event
