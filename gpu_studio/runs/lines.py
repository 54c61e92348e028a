"""New complete lines of a file that another process appends to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

READ_LIMIT = 1024 * 1024
LONGEST_LINE = 64 * 1024 * 1024


class LineTail:
    """Reads what was appended since the last time, whole lines only, a bounded number of bytes at a time.

    A last line without its newline is kept until the rest comes. A "line" longer than 64 MiB is none of ours: its
    bytes are passed over, and counted in `overlong`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.overlong = 0
        self.waiting = False
        self._cut: list[bytes] = []
        self._cut_length = 0

    def read(self, limit: int = READ_LIMIT) -> list[bytes]:
        """Return the complete lines ended by the next `limit` bytes, without newlines; none if there is no file yet.

        Afterwards `waiting` says whether there was more to read.
        """
        chunk = self._next_bytes(limit)
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        lines = b"".join((*self._cut, chunk)).split(b"\n")
        self._cut, self._cut_length = [], 0
        self._keep(lines.pop())
        return lines

    def read_all(self) -> Iterator[bytes]:
        """Yield all new complete lines, reading a bounded number of bytes at a time."""
        yield from self.read()
        while self.waiting:
            yield from self.read()

    def _next_bytes(self, limit: int) -> bytes:
        self.waiting = False
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        try:
            chunk = os.pread(descriptor, limit, self.offset)
            self.offset += len(chunk)
            self.waiting = os.fstat(descriptor).st_size > self.offset
        finally:
            os.close(descriptor)
        return chunk

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._cut.append(rest)
            self._cut_length += len(rest)
        if self._cut_length > LONGEST_LINE:
            self._cut, self._cut_length = [], 0
            self.overlong += 1
