"""Open files safely where others may have put something: in a run's folder, a queue, a recording.

Anyone who can write there may have put a pipe, which would block forever, a device, which may never
end or may act when it is opened, or a symbolic link, whose target would be read or written instead.
So anything but a regular file is refused before it is opened; links are followed only where the
user chose the name (`follow`); and no more is read into memory than the caller allows. Links in the
folders above the file are the user's own.

Every refusal is an OSError that gives the reason and the file's name.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from gpu_studio.common.figures import size

PRIVATE_FILE = 0o600
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link, which is not followed here",
}


class NotRegularError(OSError):
    """The path is not a regular file."""


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """Open the regular file at `path` with `os.open` flags; a new file is 0600. Never blocks.

    Child processes do not inherit the descriptor. Raises NotRegularError, IsADirectoryError,
    OSError.
    """
    _refuse_irregular(path, follow=follow)
    unfollowed = 0 if follow else os.O_NOFOLLOW
    descriptor = os.open(
        path, flags | unfollowed | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, PRIVATE_FILE
    )
    # Checked again: it may have been replaced since.
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotRegularError(errno.EINVAL, "this is no file", str(path))


def opened(path: Path, *, follow: bool = False) -> BinaryIO:
    """Open the regular file at `path` for reading in pieces; raises as `open_regular` does."""
    return os.fdopen(open_regular(path, follow=follow), "rb")


def read_regular(path: Path, most: int, *, follow: bool = False) -> bytes:
    """Read all of the regular file at `path`.

    Raises as `open_regular` does, and OSError if the file is larger than `most` bytes.
    """
    with opened(path, follow=follow) as file:
        held = file.read(most + 1)
    if len(held) > most:
        raise OSError(
            errno.EINVAL, f"this is larger than the {size(most)} that it may have", str(path)
        )
    return held


def read_text(path: Path, most: int, *, follow: bool = False) -> str:
    """As `read_regular`, as text: bytes that are not UTF-8 become replacement characters."""
    return read_regular(path, most, follow=follow).decode("utf-8", "replace")


def _refuse_irregular(path: Path, *, follow: bool) -> None:
    try:
        mode = path.stat(follow_symlinks=follow).st_mode
    except FileNotFoundError:
        return  # it may be created, or opening it raises the same error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise NotRegularError(errno.EINVAL, f"this is no file, but {kind}", str(path))
