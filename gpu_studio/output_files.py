"""Files that a person asked for by name: a script, a report, a table, a picture, a plan.

A file on a disk is replaced whole or not at all, and only its owner can read it; a link stays a link. What is no file
on a disk (`/dev/stdout`, a pipe, `/dev/null`) is written into, and never replaced.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With what a spreadsheet takes a cell for a formula (OWASP, *CSV Injection*)."""
_MOST_LINKS = 40
"""After so many links Linux, too, takes a path for a circle."""
_DESCRIPTORS = Path("/proc")


def write_output(path: Path, parts: Iterable[bytes]) -> None:
    """Write `parts` to `path` as they come. Raises OSError, with the file that stood there before as it was."""
    if is_stream(path):
        _write_into(path, parts)
    else:
        replace_whole(Path(os.path.realpath(path)), parts)


def is_stream(path: Path) -> bool:
    """Say whether there is a pipe, a terminal or a device at `path`, or one of this process's open files."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or _names_a_descriptor(path))


def csv_line(cells: Iterable[Any]) -> str:
    """The cells as a line of CSV, None as an empty one. No text of theirs is a formula to a spreadsheet."""
    text = io.StringIO()
    # With this end of a line, both of its letters are quoted where a cell has them.
    csv.writer(text, lineterminator="\r\n").writerow([_harmless(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n")


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) and not _is_number(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _names_a_descriptor(path: Path) -> bool:
    """Whether the path leads to an open file by its number, as `/dev/stdout` and `/dev/fd/3` do."""
    for _ in range(_MOST_LINKS):
        if Path(os.path.realpath(path.parent)).is_relative_to(_DESCRIPTORS):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def _write_into(path: Path, parts: Iterable[bytes]) -> None:
    if stat.S_ISBLK(path.stat().st_mode):
        raise OSError(errno.EINVAL, "this is a disk, which would be overwritten: name a file", str(path))
    # Appended, because what the shell redirected to a file may have something in it already. To open a pipe that
    # nobody reads would otherwise wait for ever.
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(errno.ENXIO, "nobody reads this pipe: start its reader first", str(path)) from error
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines(parts)


def replace_whole(target: Path, parts: Iterable[bytes]) -> None:
    """Put `parts` at `target`, 0600, so that a reader sees the old file or the whole new one. Raises OSError.

    What is written to meanwhile has a name that nobody can foresee, and put a link under.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:60]}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
