"""Read new complete lines of a file that another process appends to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gpu_studio.common.regular_files import open_regular

READ_LIMIT = 1024 * 1024
LONGEST_LINE = 64 * 1024 * 1024


class LineTail:
    """Reads what was appended since the last time, in whole lines and bounded pieces.

    An unfinished last line is kept until the rest arrives. A "line" longer than 64 MiB was not
    written by this program: it is skipped to its end and counted in `overlong`. `size` is the
    file's length at the last read; the next read begins at byte `offset`.
    """

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.overlong = 0
        self.size = 0
        self.waiting = False
        self._cut: list[bytes] = []
        self._cut_length = 0
        self._passing = False

    @property
    def position(self) -> int:
        """The byte offset of the first line that has not been returned yet."""
        return self.offset - self._cut_length

    def read(self, limit: int = READ_LIMIT) -> list[bytes]:
        """Return the complete lines that end within the next `limit` bytes, without newlines.

        Returns none if there is no file yet. Afterwards `waiting` says whether there is more to
        read.
        """
        chunk = self._next_bytes(limit)
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        lines = b"".join((*self._cut, chunk)).split(b"\n")
        first = 1 if self._passing else 0
        self._cut, self._cut_length, self._passing = [], 0, False
        self._keep(lines.pop())
        return lines[first:]

    def read_all(self) -> Iterator[bytes]:
        """Yield all new complete lines, reading a bounded number of bytes at a time."""
        yield from self.read()
        while self.waiting:
            yield from self.read()

    def _next_bytes(self, limit: int) -> bytes:
        self.waiting = False
        try:
            descriptor = open_regular(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        try:
            if self._passing:
                self.offset = _next_data(descriptor, self.offset)
            chunk = os.pread(descriptor, limit, self.offset)
            self.offset += len(chunk)
            self.size = os.fstat(descriptor).st_size
            self.waiting = self.size > self.offset
        finally:
            os.close(descriptor)
        return chunk

    def _keep(self, rest: bytes) -> None:
        if rest and not self._passing:
            self._cut.append(rest)
            self._cut_length += len(rest)
        if self._cut_length > LONGEST_LINE:
            self._cut, self._cut_length, self._passing = [], 0, True
            self.overlong += 1


def _next_data(descriptor: int, offset: int) -> int:
    """The offset of the next byte that was written: a sparse file may be a terabyte of nothing."""
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError:  # none is left, or the file system does not know
        end = os.fstat(descriptor).st_size
        return end if _is_hole(descriptor, offset) else offset


def _is_hole(descriptor: int, offset: int) -> bool:
    try:
        return os.lseek(descriptor, offset, os.SEEK_HOLE) == offset
    except OSError:
        return False
