"""Facts from the kernel: its boot id, its out-of-memory kills, and when a process started."""

from __future__ import annotations

import os
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
COUNTERS = Path("/proc/vmstat")
_KILLS = "oom_kill "


def boot_id() -> str:
    """An identifier of the current boot, different after each start; empty if there is none."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def memory_kills() -> int | None:
    """The number of processes killed for lack of memory since boot.

    None if the kernel does not count them.
    """
    try:
        lines = COUNTERS.read_text(encoding="ascii").splitlines()
        return next(int(line.removeprefix(_KILLS)) for line in lines if line.startswith(_KILLS))
    except (OSError, ValueError, StopIteration):
        return None


def pid_namespace() -> str:
    """An identifier of the PID namespace, different in each container; empty if unknown."""
    try:
        return Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return ""


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot, independent of the clock's setting.

    None if that is not known, and for a process that has ended, even if its parent has not waited
    for it yet.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # The program's name is in brackets and may hold anything; the state and numbers follow it.
        words = stat.rpartition(")")[2].split()
        return None if words[0] in "ZX" and not _has_other_threads(pid) else int(words[19])
    except (OSError, ValueError, IndexError):
        return None


def is_hidden(pid: int) -> bool:
    """Whether the process exists and belongs to another user, its /proc entry hidden."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _has_other_threads(pid: int) -> bool:
    # While a large process is taken apart its first thread is gone before the others, and before
    # its files are closed.
    return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir()) > 1
