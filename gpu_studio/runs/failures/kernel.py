"""What the kernel tells: since when it runs, how many processes it ended for want of memory, when one was started."""

from __future__ import annotations

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


def started(pid: int) -> int | None:
    """When a process was started, in ticks since the computer was, whatever its clock is set to; None: not known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # The name of the program stands in brackets and may hold anything; what follows it is numbers.
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
