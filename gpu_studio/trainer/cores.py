"""The cores that this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """How many there are; of a process that is bound to some of the machine's, those."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
