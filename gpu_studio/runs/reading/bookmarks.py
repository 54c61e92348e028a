"""Where in a long file of lines which moment stands: noted while it is read, so that a stretch can be read again."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from copy import copy
from operator import attrgetter
from typing import Final, NamedTuple

from gpu_studio.steady import SteadyClock

MOST: Final = 4096
APART: Final = 256 * 1024
"""Bytes between two bookmarks, at first: of a longer file there are fewer for each of them."""
_OFFSET, _TIME = attrgetter("offset"), attrgetter("time")


class Bookmark(NamedTuple):
    """No line before the byte `offset` has a later `time`, and none after it an earlier one, in seconds since 1970.

    The times are those of a `SteadyClock`; `left` is as the lines before left it.
    """

    time: float
    offset: int
    left: SteadyClock

    @property
    def clock(self) -> SteadyClock:
        """A clock for reading on from there."""
        return copy(self.left)


class Lines(NamedTuple):
    """What has to be read: from a bookmark to before the byte `until`; None: to the end of the file."""

    begin: Bookmark
    until: int | None

    def bytes(self, size: int) -> int:
        """How many bytes that are of a file of `size`."""
        return (size if self.until is None else self.until) - self.begin.offset


class Bookmarks:
    """Bookmarks in their order: at most 4,096 of them however long the file. Later ones can be foreseen."""

    def __init__(self) -> None:
        self._kept: list[Bookmark] = [Bookmark(-math.inf, 0, SteadyClock())]
        self._ahead: list[Bookmark] = []
        self._apart = APART

    def note(self, clock: SteadyClock, offset: int) -> None:
        """A line begins at this byte, and the clock is as the lines before have left it."""
        if offset - self._kept[-1].offset >= self._apart:
            self._kept.append(Bookmark(clock.newest, offset, copy(clock)))
            if len(self._kept) > MOST:
                self._kept, self._apart = self._kept[::2], 2 * self._apart

    def foresee(self, ahead: Iterable[Bookmark]) -> None:
        """Use these, sorted, for what was not read so far; a line need not begin exactly there."""
        self._ahead = list(ahead)

    def around(self, start: float, end: float) -> Lines:
        """What has to be read to know everything from `start` to `end`.

        It goes on for one bookmark beyond: a line may tell of what was a little before its time.
        """
        marks = [*self._kept, *self._ahead[bisect_right(self._ahead, self._kept[-1].offset, key=_OFFSET) :]]
        begin = max(bisect_left(marks, start, key=_TIME) - 1, 0)
        after = bisect_right(marks, end, key=_TIME) + 1
        return Lines(marks[begin], marks[after].offset if after < len(marks) else None)
