"""Which processes have a file open, as far as this user may know."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

PROCESSES = Path("/proc")


def has_open(pid: int, path: Path) -> bool:
    """Whether process `pid` of this computer has the file open.

    Raises PermissionError, ProcessLookupError.
    """
    try:
        wanted = path.stat()
    except OSError:
        return False
    if not (PROCESSES / "self" / "fd").is_dir():
        return _has_open_elsewhere(pid, wanted)
    try:
        return any(_is(entry, wanted) for entry in os.scandir(PROCESSES / str(pid) / "fd"))
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None


def who_has_open(path: Path) -> list[int]:
    """The other processes that have the file at `path` open; other users' are not visible."""
    return [pid for pid in psutil.pids() if pid != os.getpid() and _may_have_open(pid, path)]


def _may_have_open(pid: int, path: Path) -> bool:
    try:
        return has_open(pid, path)
    except OSError:
        return False


def _is(entry: os.DirEntry[str], wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(entry.stat(), wanted)
    except OSError:  # closed meanwhile
        return False


def _has_open_elsewhere(pid: int, wanted: os.stat_result) -> bool:
    """For systems without /proc, such as macOS."""
    try:
        return any(
            os.path.samestat(Path(file.path).stat(), wanted)
            for file in psutil.Process(pid).open_files()
        )
    except psutil.AccessDenied:
        raise PermissionError(pid) from None
    except psutil.NoSuchProcess:
        raise ProcessLookupError(pid) from None
