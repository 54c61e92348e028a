"""Files that only their owner can read: create them, append lines, read lines as they arrive.

One process appends to such a file while another reads its new complete lines, and makes out what
they hold; one with a window does so in slices of time. All are opened by the rules of
`safe_files`: links are not followed, and only regular files are opened. Lines are JSON, which
anybody may have written.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from gpu_studio.common.json_text import JSON_ERRORS as JSON_ERRORS
from gpu_studio.common.safe_files import open_regular, opened, read_regular, replace_whole

PRIVATE_DIRECTORY = 0o700
LARGEST_JSON = 4 * 1024 * 1024
"""Bytes of the largest of the small files in a run's folder, or in a queue's."""
T = TypeVar("T")


def lossy_line(encoder: msgspec.json.Encoder, value: Any) -> bytes:
    """A value as JSON on a line, with a question mark for what is not UTF-8.

    That are lone surrogates, as in the name of a file in another encoding.
    """
    try:
        return encoder.encode(value) + b"\n"
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=encoder.enc_hook)
        return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def json_line(value: Any) -> bytes:
    """A value as JSON on a line.

    Raises OSError, as a disk does that takes no such file, for a text that is not UTF-8: the path
    of a folder may be one.
    """
    try:
        return msgspec.json.encode(value) + b"\n"
    except UnicodeEncodeError as error:
        why = "this is not UTF-8, and cannot be written down: give it another name"
        raise OSError(errno.EILSEQ, why, error.object) from error


def read_json(path: Path, decode: Callable[[bytes], T], most: int = LARGEST_JSON) -> T:
    """Read a JSON file and convert it by `decode`.

    Raises OSError for anything wrong with it, syntax too.
    """
    try:
        return decode(read_regular(path, most))
    except JSON_ERRORS as error:
        raise OSError(f"{path} cannot be made out: {error}") from error


def make_private_directory(path: Path) -> None:
    """Create `path` with mode 0700, and each missing parent too; an existing one stays as it is."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)


def make_own_directory(path: Path) -> None:
    """As `make_private_directory`, within a folder of runs, into which others may write.

    Raises OSError for a link in its place: what is written below it would lie elsewhere.
    """
    make_private_directory(path)
    refuse_link(path)


def refuse_link(path: Path) -> None:
    """Raises OSError if there is a link at `path`."""
    if path.is_symlink():
        why = "this is a link, which is not followed: remove it"
        raise NotADirectoryError(errno.ENOTDIR, why, str(path))


def write_private(path: Path, data: bytes) -> None:
    """Write `data` to `path`, 0600, so that a reader sees the old file or the whole new one."""
    replace_whole(path, [data])


def append_line(path: Path, line: bytes) -> None:
    """Append one `line` (with its newline), 0600.

    A line that an earlier writer left unfinished is ended first. Raises OSError if the line could
    not be written whole.
    """
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        data = line if _ends_in_newline(descriptor) else b"\n" + line
        if os.write(descriptor, data) != len(data):
            raise OSError(f"{path} could not take a whole line: is the disk full?")
    finally:
        os.close(descriptor)


def last_lines(path: Path, most: int, since: int = 0) -> list[bytes]:
    """The lines in the last `most` bytes of a file, from byte `since` on; the first may be cut.

    Raises OSError if unreadable.
    """
    with opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(since, size - most))
        return file.read(most).splitlines()


def last_lines_if_any(path: Path, most: int, since: int = 0) -> list[bytes]:
    """As `last_lines`; empty for a file that cannot be read."""
    try:
        return last_lines(path, most, since)
    except OSError:
        return []


def _ends_in_newline(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


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


class Tail(Generic[T]):
    """Follows a file that holds one thing a line, even if it is missing, cut, or has garbage.

    `decode` makes out a line, and gives None for one that it does not know; `skipped` counts those.
    """

    def __init__(self, path: Path, decode: Callable[[bytes], T | None]) -> None:
        self._lines, self._decode = LineTail(path), decode
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

    def follow(self, path: Path) -> None:
        """Read on where the file was moved to."""
        self._lines.path = path

    def read(self, limit: int = READ_LIMIT) -> list[T]:
        """Return what became complete since the last read, from at most `limit` bytes.

        See `waiting`.
        """
        lines, decode = self._lines.read(limit), self._decode
        decoded = [decode(line) for line in lines]
        known = [each for each in decoded if each is not None]
        if len(known) == len(decoded):
            return known
        self._unknown += sum(
            each is None and bool(line.strip()) for line, each in zip(lines, decoded, strict=True)
        )
        return known

    def read_all(self) -> list[T]:
        """Return what became complete since the last time, however much there is."""
        known = self.read()
        while self.waiting:
            known += self.read()
        return known


FEWEST_BYTES: Final = 16 * 1024
MOST_AT_ONCE: Final = 1024 * 1024
_ENOUGH: Final = 0.5
_GROWTH: Final = 2.0


class Slices:
    """Reads as many bytes at once as a slice has time for: many together are cheaper."""

    def __init__(self, milliseconds: float) -> None:
        self._seconds = milliseconds / 1000
        self.chunk = FEWEST_BYTES

    def read(self, read: Callable[[int], bool]) -> None:
        """Call `read` with a number of bytes until nothing is waiting, or the slice is over."""
        began = before = time.perf_counter()
        while read(self.chunk):
            now = time.perf_counter()
            self._adapt(now - before)
            if now - began >= _ENOUGH * self._seconds:
                return
            before = now

    def _adapt(self, took: float) -> None:
        factor = min(self._seconds / max(took, 1e-6), _GROWTH)
        self.chunk = min(max(int(self.chunk * factor), FEWEST_BYTES), MOST_AT_ONCE)
