"""What the kernel tells: since when it runs, how many processes it ended for want of memory, when one was started."""

from __future__ import annotations

import os
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
COUNTERS = Path("/proc/vmstat")
_KILLS = "oom_kill "


def boot_id() -> str:
    """A name for the time since the computer was started, another after each start; empty where there is none."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def memory_kills() -> int | None:
    """How many processes were ended for want of memory since the computer was started; None where nobody counts."""
    try:
        lines = COUNTERS.read_text(encoding="ascii").splitlines()
        return next(int(line.removeprefix(_KILLS)) for line in lines if line.startswith(_KILLS))
    except (OSError, ValueError, StopIteration):
        return None


def pid_namespace() -> str:
    """A name for the numbers of processes that are known here, another one in each container; empty: not known."""
    try:
        return Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return ""


def started(pid: int) -> int | None:
    """When a process was started, in ticks since the computer was, whatever its clock is set to.

    None where that is not known, and of a process that has ended, also if its parent has not taken notice yet.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # The name of the program stands in brackets and may hold anything; what follows it is the state, and numbers.
        words = stat.rpartition(")")[2].split()
        return None if words[0] in "ZX" and not _has_other_threads(pid) else int(words[19])
    except (OSError, ValueError, IndexError):
        return None


def is_hidden(pid: int) -> bool:
    """Whether there is such a process of another user, of which /proc may not tell this one."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _has_other_threads(pid: int) -> bool:
    # While a large process is taken apart its first thread is gone before the others, and before its files are closed.
    return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir()) > 1
