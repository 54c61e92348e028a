"""Files that a person asked for by name: a script, a report, a table, a picture, a plan.

A file on a disk is replaced whole or not at all; a link stays a link. Only its owner can read a new file; one that
replaces a file of the user's own keeps the permissions of that. What is no file on a disk (`/dev/stdout`, a pipe,
`/dev/null`) is written into, and never replaced.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from gpu_studio.regular_files import PRIVATE_FILE

_MOST_LINKS = 40
"""After so many links Linux, too, takes a path for a circle."""
_DESCRIPTORS = Path("/proc")


def write_output(path: Path, parts: Iterable[bytes]) -> None:
    """Write `parts` to `path` as they come. Raises OSError, with the file that stood there before as it was."""
    if is_stream(path):
        _write_into(path, parts)
    else:
        target = Path(os.path.realpath(path))
        replace_whole(target, parts, _permissions(target))


def is_stream(path: Path) -> bool:
    """Say whether there is a pipe, a terminal or a device at `path`, or one of this process's open files."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or _names_a_descriptor(path))


def _permissions(path: Path) -> int:
    """Those of the user's own file at `path`; else those of a new one."""
    try:
        status = path.stat()
    except OSError:
        return PRIVATE_FILE
    return stat.S_IMODE(status.st_mode) & 0o777 if status.st_uid == os.geteuid() else PRIVATE_FILE


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


def replace_whole(target: Path, parts: Iterable[bytes], permissions: int = PRIVATE_FILE) -> None:
    """Put `parts` at `target`, so that a reader sees the old file or the whole new one. Raises OSError.

    What is written to meanwhile has a name that nobody can foresee, and put a link under.
    """
    descriptor, temporary = _temporary_beside(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fchmod(file.fileno(), permissions)
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary_beside(target: Path) -> tuple[int, Path]:
    """A new file in the same folder, 0600: its descriptor and its path. Raises OSError, which names the target."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:60]}.", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    return descriptor, Path(name)
