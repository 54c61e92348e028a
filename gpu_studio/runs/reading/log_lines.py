"""The newest lines of a run's log, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

LOG_LINES: Final = 10_000
LOG_CHARACTERS: Final = 8 * 1024 * 1024
LONGEST_MESSAGE: Final = 64 * 1024
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line for the reader, at `time` (seconds since 1970, UTC)."""

    time: float
    level: Level
    message: str


class LogLines:
    """The newest ten thousand lines, of at most eight million characters; `total` counts all."""

    def __init__(self) -> None:
        self.total = 0
        self._lines: deque[LogLine] = deque()
        self._characters = 0

    def __len__(self) -> int:
        """Count the lines kept."""
        return len(self._lines)

    def __iter__(self) -> Iterator[LogLine]:
        """The lines kept, oldest first."""
        return iter(self._lines)

    def __getitem__(self, place: int) -> LogLine:
        """The line at this index among those kept; the newest is -1."""
        return self._lines[place]

    def say(self, time: float, level: Level, message: str) -> None:
        """Add a line; one that is far too long is cut and marked."""
        self.total += 1
        line = LogLine(time, level, shortened(message))
        self._lines.append(line)
        self._characters += len(line.message)
        while len(self._lines) > LOG_LINES or (
            self._characters > LOG_CHARACTERS and len(self._lines) > 1
        ):
            self._characters -= len(self._lines.popleft().message)


def shortened(message: str) -> str:
    """The message; if it is far too long, its beginning and its full length."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    return f"{message[:LONGEST_MESSAGE]}… ({len(message)} characters in all: see events.jsonl)"
