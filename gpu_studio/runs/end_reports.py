"""Make sure that the end of a run is reported exactly once, however many windows follow it.

The file `end-told` in a run's folder marks it as reported. It is written only after the desktop has
taken the notification: if a window is killed in between, another one reports the end, at the latest
the next one opened. Of several windows, the one that holds `RUNS/.telling` reports, after checking
again which ends are unreported.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from gpu_studio.common.safe_files import open_regular
from gpu_studio.contract import RunDirectory, lock
from gpu_studio.runs.state import is_live

LOCK = ".telling"
NEWS_SECONDS = 86_400.0
"""For so long an end is news. What ended before is for the Runs page to tell."""
_BY_TERMINAL = b"terminal\n"


def is_reported(run: RunDirectory) -> bool:
    """Whether a window has reported the end of `run`, or a person was looking at it there."""
    try:
        return run.reported_file.stat().st_size == 0
    except OSError:
        return False


def mark_reported(run: RunDirectory) -> None:
    """Mark the end of `run` as reported. Skipped if the folder is not writable."""
    _mark(run, b"")


def mark_followed(run: RunDirectory) -> None:
    """Mark that a terminal has shown the end of `run`. An open window reports it anyway.

    A later one does not. Someone waiting for a run in a terminal may be looking elsewhere when it
    ends, but returns to it.
    """
    if not run.reported_file.exists():
        _mark(run, _BY_TERMINAL)


def unreported(runs: Path, now: float | None = None) -> list[RunDirectory]:
    """This user's runs that ended within a day before `now` and are unreported, the newest first.

    Those in folders that are not writable are left out: it could not be noted that they were
    reported.
    """
    # Imported on first use: the window's start waits for this module.
    from gpu_studio.runs.catalogue import directories

    since = (time.time() if now is None else now) - NEWS_SECONDS
    return [run for run in directories(runs) if _is_news(run, since)]


def take_telling(runs: Path) -> lock.Lock | None:
    """Take the lock that only one window at a time can hold; None if another window has it.

    It is held until released, or until the window is gone. Raises OSError if the folder does not
    allow a lock.
    """
    try:
        return lock.take(runs / LOCK, timeout=0.0)
    except lock.LockHeldError:
        return None


def ended_at(run: RunDirectory) -> float | None:
    """The time of the last event of `run`, in seconds since 1970; None if it has none."""
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
    return (
        ours
        and not run.reported_file.exists()
        and os.access(run.path, os.W_OK)
        and not is_live(run)
    )


def _mark(run: RunDirectory, content: bytes) -> None:
    with suppress(OSError):
        descriptor = open_regular(run.reported_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
