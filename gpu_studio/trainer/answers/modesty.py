"""A question must not cost the machine its memory: one zero too many gets a sentence, and not a swap storm."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

import psutil

_SCORE = Path("/proc/self/oom_score_adj")
_FIRST_TO_GO = "1000"


def be_modest() -> None:
    """Let this process have no more memory than is free now, and be the first to go where there is too little.

    What asks for more gets a MemoryError, or TensorFlow's own words for it. Where the system has no such limit, nothing
    is done.
    """
    with suppress(OSError):
        _SCORE.write_text(_FIRST_TO_GO)
    # Of memory that can be written to: libraries, and the address space that a driver reserves, do not count.
    kind = getattr(resource, "RLIMIT_DATA", None)
    if kind is not None:
        free = psutil.virtual_memory().available
        _, most = resource.getrlimit(kind)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (free if most == resource.RLIM_INFINITY else min(free, most), most))
