"""Recognise a full or refusing disk by the system's and TensorFlow's words, and advise on it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
"""There is no room, on the disk or within the user's quota."""
LASTING = (errno.EROFS, errno.EFBIG, errno.EDQUOT)
"""Nobody else makes room meanwhile.

The disk is read-only, or a limit set for this user or process is reached.
"""
_ROOM = (
    "Make room on the disk that holds the runs folder, or choose another "
    "with --runs-dir. Look with: df -h"
)
_WRITABLE = (
    "Have the disk that holds the runs folder mounted for writing, "
    "or choose another with --runs-dir."
)
_UNLIMITED = (
    "Take away the limit on the size of files, in the shell that "
    "starts the run: ulimit -f unlimited"
)
LEAST_ROOM = 64 * 1024
"""Bytes: with less than this a disk is as good as full."""
_WORDS = tuple(os.strerror(number) for number in FULL)


def refusal_of_disk(error: BaseException) -> str:
    """The system's reason why a disk refused a write; empty if `error` is about something else.

    For example `No space left on device`. TensorFlow writes some files itself, and then raises the
    exception that it also raises for a device without memory, with these words in it.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno in (*FULL, *LASTING) else ""
    text = str(error)
    return next((words for words in _WORDS if words in text), "")


def advice_for(words: str) -> str:
    """What to do about a disk that refused for this reason, or for one in this sentence."""
    others = {errno.EROFS: _WRITABLE, errno.EFBIG: _UNLIMITED}
    return next(
        (advice for number, advice in others.items() if os.strerror(number) in words), _ROOM
    )


def has_no_room(folder: Path) -> bool:
    """Whether the disk that holds `folder` is full for this user; false if that is not known."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_blocks > 0 and disk.f_bavail * disk.f_frsize < LEAST_ROOM
