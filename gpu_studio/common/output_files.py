"""Write files that a person asked for by name: a script, a report, a table, a picture, a plan.

A file on disk is replaced whole or not at all; a symbolic link stays one. A new file is readable by
its owner only; one that replaces a file of the same user keeps that file's permissions. A path that
is not a file on disk (`/dev/stdout`, a pipe, `/dev/null`) is written to and never replaced.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from gpu_studio.common.regular_files import PRIVATE_FILE

_MOST_LINKS = 40
"""After so many links Linux, too, takes a path for a circle."""
_DESCRIPTORS = Path("/proc")


def write_output(path: Path, parts: Iterable[bytes]) -> None:
    """Write `parts` to `path` as they arrive.

    Raises OSError and leaves the previous file intact.
    """
    if is_stream(path):
        _write_into(path, parts)
    else:
        target = Path(os.path.realpath(path))
        replace_whole(target, parts, _permissions(target))


def is_stream(path: Path) -> bool:
    """Say whether `path` is a pipe, a terminal, a device, or an open file of this process."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or _names_a_descriptor(path))


def _permissions(path: Path) -> int:
    """The permissions of the user's own file at `path`; otherwise those of a new file."""
    try:
        status = path.stat()
    except OSError:
        return PRIVATE_FILE
    return stat.S_IMODE(status.st_mode) & 0o777 if status.st_uid == os.geteuid() else PRIVATE_FILE


def _names_a_descriptor(path: Path) -> bool:
    """Whether the path names an open file by its descriptor, such as `/dev/stdout`, `/dev/fd/3`."""
    for _ in range(_MOST_LINKS):
        if Path(os.path.realpath(path.parent)).is_relative_to(_DESCRIPTORS):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def _write_into(path: Path, parts: Iterable[bytes]) -> None:
    if stat.S_ISBLK(path.stat().st_mode):
        raise OSError(
            errno.EINVAL, "this is a disk, which would be overwritten: name a file", str(path)
        )
    # Appended, because a file that the shell redirects to may already have content. Opening a pipe
    # that nobody reads would otherwise block forever.
    try:
        descriptor = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK
        )
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(
            errno.ENXIO, "nobody reads this pipe: start its reader first", str(path)
        ) from error
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines(parts)


def replace_whole(target: Path, parts: Iterable[bytes], permissions: int = PRIVATE_FILE) -> None:
    """Write `parts` to `target` so that a reader sees either the old file or the whole new one.

    The temporary file has an unpredictable name, at which nobody can have planted a link. Raises
    OSError.
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
    """Create a file (0600) in the same folder; return its descriptor and path.

    Raises OSError, which names the target.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:60]}.", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    return descriptor, Path(name)
