"""Take a BSD `flock` that another process may hold for a moment."""

from __future__ import annotations

import fcntl
import time

_RETRY_SECONDS = 0.01


def lock_within(descriptor: int, seconds: float) -> bool:
    """Lock the open file exclusively; return whether that succeeded within `seconds`.

    Raises OSError if its file system knows no locks.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_RETRY_SECONDS)
        else:
            return True
