"""A disk that takes no more: how the system and TensorFlow say it, and what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
"""There is no room, on the disk or within the user's quota."""
LASTING = (errno.EROFS, errno.EFBIG, errno.EDQUOT)
"""Nobody else makes room meanwhile: the disk is read-only, or a limit set for this user or process is reached."""
_ROOM = "Make room on the disk that holds the runs folder, or choose another with --runs-dir. Look with: df -h"
_WRITABLE = "Have the disk that holds the runs folder mounted for writing, or choose another with --runs-dir."
_UNLIMITED = "Take away the limit on the size of files, in the shell that starts the run: ulimit -f unlimited"
LEAST_ROOM = 64 * 1024
"""Bytes: with less than this a disk is as good as full."""
_WORDS = tuple(os.strerror(number) for number in FULL)


def refusal_of_disk(error: BaseException) -> str:
    """The system's words for why a disk took no more (`No space left on device`); empty if `error` is not about that.

    TensorFlow writes files itself, and then raises what it raises for a device without memory, with these words in it.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno in (*FULL, *LASTING) else ""
    text = str(error)
    return next((words for words in _WORDS if words in text), "")


def advice_for(words: str) -> str:
    """What to do about a disk that refused with these words of the system's, or with a sentence that holds them."""
    others = {errno.EROFS: _WRITABLE, errno.EFBIG: _UNLIMITED}
    return next((advice for number, advice in others.items() if os.strerror(number) in words), _ROOM)


def has_no_room(folder: Path) -> bool:
    """Whether the disk that holds `folder` is full for this user; false where that is not known."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_blocks > 0 and disk.f_bavail * disk.f_frsize < LEAST_ROOM
