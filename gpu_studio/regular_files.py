"""The one way to open a file where somebody else may have put something: in a run's folder, a queue, a recording.

Whoever may write there can have put a pipe, which would be waited for without end, a device, which may never end or do
something when it is opened, or a link to another file, which would then be read or written in its place. So what is no
regular file is refused before it is opened; a link is not followed, but where its name is the user's own choice
(`follow`); and no more is ever read into memory than the caller has room for. Links above the file are the user's own.

Every refusal is an OSError that says in words why, with the file's name.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

PRIVATE_FILE = 0o600
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link, which is not followed here",
}


class NotRegularError(OSError):
    """What stands there is no file to read or write."""


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """Open the regular file at `path` with `os.open` flags; it is made 0600 if it is made. Never waits.

    Programs that this one starts do not get the descriptor. Raises NotRegularError, IsADirectoryError, OSError.
    """
    _refuse_irregular(path, follow=follow)
    unfollowed = 0 if follow else os.O_NOFOLLOW
    descriptor = os.open(path, flags | unfollowed | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, PRIVATE_FILE)
    # Looked at again: it may have been replaced since.
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotRegularError(errno.EINVAL, "this is no file", str(path))


def opened(path: Path, *, follow: bool = False) -> BinaryIO:
    """The regular file at `path`, to be read bit by bit; raises as `open_regular` does."""
    return os.fdopen(open_regular(path, follow=follow), "rb")


def read_regular(path: Path, most: int, *, follow: bool = False) -> bytes:
    """All that the regular file at `path` holds; raises as `open_regular` does, and OSError if over `most` bytes."""
    with opened(path, follow=follow) as file:
        held = file.read(most + 1)
    if len(held) > most:
        raise OSError(errno.EINVAL, f"this is larger than the {most // 1024} KiB that it may have", str(path))
    return held


def read_text(path: Path, most: int, *, follow: bool = False) -> str:
    """As `read_regular`, as text: bytes that are no UTF-8 become replacement characters."""
    return read_regular(path, most, follow=follow).decode("utf-8", "replace")


def _refuse_irregular(path: Path, *, follow: bool) -> None:
    try:
        mode = path.stat(follow_symlinks=follow).st_mode
    except FileNotFoundError:
        return  # it may be made, or opening it says the same
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise NotRegularError(errno.EINVAL, f"this is no file, but {kind}", str(path))
