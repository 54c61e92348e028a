"""How much memory there is for data, and what is said where they do not fit."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from gpu_studio.common.figures import size
from gpu_studio.trainer.errors import DataError

_SHARE = 0.75
"""Data may take so much of what is free: the rest is for TensorFlow and the model."""
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def free_bytes() -> int:
    """Return the memory that this process can get now.

    That is what is free in the machine, or can be freed without writing anything out, or less,
    where a control group or a limit of the process allows less.
    """
    found = [int(psutil.virtual_memory().available), *_left_in_group(), *_left_in_process()]
    return max(0, min(found))


def room() -> int:
    """Return how many bytes data may take that are held in memory."""
    return int(free_bytes() * _SHARE)


def check_memory(what: str, needed: int, free: int, advice: Sequence[str]) -> None:
    """Raises DataError with both figures if `what`, a plural, takes more than `free` bytes."""
    if needed > free:
        raise DataError(f"{what} take {size(needed)}, but {size(free)} of memory are free.", advice)


def _left_in_group() -> list[int]:
    """What the process's control group and those around it have left, without files' pages."""
    with suppress(OSError, ValueError, StopIteration):  # older systems have no group 0
        own = _OWN_GROUPS.read_text().strip().splitlines()
        name = next(line[3:] for line in own if line.startswith("0::"))
        folder, found = _GROUPS / name.lstrip("/"), list[int]()
        for group in (folder, *folder.parents):
            if group == _GROUPS.parent:
                break
            found += _left_in(group)
        return found
    return []


def _left_in(group: Path) -> list[int]:
    with suppress(OSError, ValueError, StopIteration):
        most = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        lines = (group / "memory.stat").read_text().splitlines()
        files = sum(int(line.split()[1]) for line in lines if line.startswith(_OF_FILES))
        return [most - used + files]
    return []


_OF_FILES = ("inactive_file ", "active_file ")


def _left_in_process() -> list[int]:
    """What the limit of the process's own data leaves."""
    most, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY:
        return []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        used = next(int(line.split()[1]) for line in lines if line.startswith("VmData"))
        return [most - used * 1024]
    return []
