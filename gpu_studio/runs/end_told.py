"""That the end of a run is told: once, however many windows follow it, and at the latest by the next window.

`end-told` in a run's folder says so. It is written when the desktop has taken the notification and not before: a window
that is killed in between leaves it to the others, or to the one that is opened next. Of several windows that want to
tell, one at a time holds `RUNS/.telling`, and looks again which ends are still untold.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from gpu_studio.regular_files import open_regular
from gpu_studio.runs import lock
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.state import is_live

LOCK = ".telling"
NEWS_SECONDS = 86_400.0
"""For so long an end is news. What ended before is for the Runs page to tell."""
_BY_TERMINAL = b"terminal\n"


def is_told(run: RunDirectory) -> bool:
    """Whether a window has told of the end of `run`, or a person was looking at it there."""
    try:
        return run.told_file.stat().st_size == 0
    except OSError:
        return False


def mark_told(run: RunDirectory) -> None:
    """Say that the desktop was told of the end of `run`, or need not be. A folder that takes no file goes without."""
    _mark(run, b"")


def mark_followed(run: RunDirectory) -> None:
    """Say that a terminal has shown the end of `run`. A window that is open tells of it all the same; none does later.

    Whoever waits for a run in a terminal may well be looking elsewhere when it ends, but comes back to it.
    """
    if not run.told_file.exists():
        _mark(run, _BY_TERMINAL)


def untold(runs: Path, now: float | None = None) -> list[RunDirectory]:
    """The runs of this user that ended within a day before `now` and that nobody was told of, the newest first.

    Those whose folder takes no file are left out: it could not be noted that they were told.
    """
    # Imported when it is first needed: the window's start waits for this module.
    from gpu_studio.runs.catalogue import directories

    since = (time.time() if now is None else now) - NEWS_SECONDS
    return [run for run in directories(runs) if _is_news(run, since)]


def take_telling(runs: Path) -> lock.Lock | None:
    """Hold what only one window at a time holds, until it is released, or the window is gone; None if another has it.

    Raises OSError where the folder takes no lock.
    """
    try:
        return lock.take(runs / LOCK, timeout=0.0)
    except lock.LockHeldError:
        return None


def ended_at(run: RunDirectory) -> float | None:
    """When `run` told its last, in seconds since 1970; None if it never told anything."""
    try:
        return run.events_file.stat().st_mtime
    except OSError:
        return None


def _is_news(run: RunDirectory, since: float) -> bool:
    try:
        status = run.events_file.stat()
    except OSError:
        return False
    ours = status.st_mtime >= since and status.st_uid == os.getuid()
    return ours and not run.told_file.exists() and os.access(run.path, os.W_OK) and not is_live(run)


def _mark(run: RunDirectory, content: bytes) -> None:
    with suppress(OSError):
        descriptor = open_regular(run.told_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
