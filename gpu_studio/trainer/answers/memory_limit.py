"""Limit the memory of a process that answers a question.

A plan with one zero too many must end in a sentence, not in a machine that swaps.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

import psutil

_SCORE = Path("/proc/self/oom_score_adj")
_FIRST_TO_GO = "1000"


def limit_memory() -> None:
    """Limit this process to the memory that is free now, and let it be the first to be killed.

    Whatever asks for more gets a MemoryError, or TensorFlow's own words for it. Where the system
    knows no such limit, nothing is done.
    """
    with suppress(OSError):
        _SCORE.write_text(_FIRST_TO_GO)
    # The limit covers writable memory: neither libraries nor the address space that a driver
    # reserves count.
    kind = getattr(resource, "RLIMIT_DATA", None)
    if kind is not None:
        free = psutil.virtual_memory().available
        _, most = resource.getrlimit(kind)
        with suppress(OSError, ValueError):
            resource.setrlimit(
                kind, (free if most == resource.RLIM_INFINITY else min(free, most), most)
            )
