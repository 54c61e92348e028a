"""Files and directories that only their owner can read, and lines appended to them whole."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700


def open_private(path: Path, flags: int) -> int:
    """Open `path` with `os.open` flags, made 0600 if it is made, closed in programs that this one starts.

    Raises OSError as `os.open` does.
    """
    return os.open(path, flags | os.O_CLOEXEC, PRIVATE_FILE)


def make_private_directory(path: Path) -> None:
    """Make `path` 0700, and 0700 each parent that is missing; one that exists stays as it is."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)


def write_private(path: Path, data: bytes) -> None:
    """Put `data` at `path`, 0600, so that a reader sees the old file or the whole new one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def append_line(path: Path, line: bytes) -> None:
    """Append one `line` (with its newline), 0600. A line that an earlier writer left cut is ended first.

    Raises OSError if the line could not be written whole.
    """
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        data = line if _ends_in_newline(descriptor) else b"\n" + line
        if os.write(descriptor, data) != len(data):
            raise OSError(f"{path} could not take a whole line: is the disk full?")
    finally:
        os.close(descriptor)


def last_lines(path: Path, most: int) -> list[bytes]:
    """The lines in the last `most` bytes of a file, the first perhaps cut; none of a file that cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            return file.read(most).splitlines()
    except OSError:
        return []


def _ends_in_newline(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
