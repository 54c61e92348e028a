"""Whether data fit into the memory that is free: told before any of them is read."""

from __future__ import annotations

from collections.abc import Sequence

import psutil

from gpu_studio.trainer.errors import DataError

_GIB = 1024**3


def free_bytes() -> int:
    """The host memory that is free now, or can be freed without writing anything out."""
    return int(psutil.virtual_memory().available)


def check_room(what: str, needed: int, free: int, advice: Sequence[str]) -> None:
    """Raises DataError with both figures if `what`, a plural, takes more than `free` bytes."""
    if needed > free:
        raise DataError(f"{what} take {needed / _GIB:,.1f} GiB, but {free / _GIB:,.1f} GiB of memory are free.", advice)
