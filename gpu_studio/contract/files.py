"""Create and append to files and directories that only their owner can read.

All of them are opened by the rules of `regular_files`: links are not followed, and only regular
files are opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from gpu_studio.common.output_files import replace_whole
from gpu_studio.common.regular_files import open_regular, opened, read_regular

PRIVATE_DIRECTORY = 0o700
LARGEST_JSON = 4 * 1024 * 1024
"""Bytes of the largest of the small files in a run's folder, or in a queue's."""
T = TypeVar("T")


def read_json(path: Path, decode: Callable[[bytes], T], most: int = LARGEST_JSON) -> T:
    """Read a JSON file and convert it by `decode`.

    Raises OSError for anything wrong with it, syntax too.
    """
    try:
        return decode(read_regular(path, most))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise OSError(f"{path} cannot be made out: {error}") from error


def make_private_directory(path: Path) -> None:
    """Create `path` with mode 0700, and each missing parent too; an existing one stays as it is."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)


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


def last_lines(path: Path, most: int) -> list[bytes]:
    """The lines in the last `most` bytes of a file; the first may be cut.

    Raises OSError if unreadable.
    """
    with opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most))
        return file.read(most).splitlines()


def last_lines_if_any(path: Path, most: int) -> list[bytes]:
    """As `last_lines`; empty for a file that cannot be read."""
    try:
        return last_lines(path, most)
    except OSError:
        return []


def _ends_in_newline(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
