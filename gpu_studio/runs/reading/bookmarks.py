"""Bookmarks of time in a long event file, noted while reading, so that a part can be read again."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from copy import copy
from operator import attrgetter
from typing import Final, NamedTuple

from gpu_studio.common.steady import SteadyClock

MOST: Final = 4096
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
            if len(self._kept) > MOST:
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
