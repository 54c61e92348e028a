"""How much memory there is for data, and what is said where they do not fit."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from gpu_studio.common.figures import size
from gpu_studio.trainer.errors import DataError

_SHARE = 0.75
"""Data may take so much of what is free: the rest is for TensorFlow and the model."""
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


@dataclass(frozen=True, slots=True)
class Look:
    """What was `free`, and what this process `held`, in bytes, when it looked."""

    free: int
    held: int

    @classmethod
    def now(cls) -> Look:
        """What is and does."""
        return cls(free_bytes(), held_bytes())


@dataclass(frozen=True, slots=True)
class OwnShare:
    """The share of one of `processes` alike that hold data on this machine at the same time.

    All looked `before` any of them had read its data: who looks later would take what another has
    read for memory that was never there, and share the rest once more.
    """

    before: Look
    processes: int

    def left(self, held: int) -> int:
        """What is left of it for a process that holds so many bytes by now."""
        return self.before.free // self.processes - max(0, held - self.before.held)


_own: list[OwnShare] = []


def share(before: Look, processes: int) -> None:
    """From now on this process gets an equal part of what was free."""
    _own[:] = [OwnShare(before, processes)] if processes > 1 else []


def free_bytes() -> int:
    """Return the memory that this process can get now.

    That is what is free in the machine, or can be freed without writing anything out, or less,
    where a control group or a limit of the process allows less, or others have a share in it.
    """
    found = [int(psutil.virtual_memory().available), *left_in_groups(), *left_in_process()]
    return max(0, min([*found, *(part.left(held_bytes()) for part in _own)]))


def bytes_for_data() -> int:
    """Return how many bytes data may take that are held in memory."""
    return int(free_bytes() * _SHARE)


def check_memory(what: str, needed: int, free: int, advice: Sequence[str]) -> None:
    """Raises DataError with both figures if `what`, a plural, takes more than `free` bytes."""
    if needed > free:
        each = f" for each of {_own[0].processes} workers on this machine" if _own else ""
        raise DataError(
            f"{what} take {size(needed)}, but {size(free)} of memory are free{each}.", advice
        )


def held_bytes() -> int:
    """The memory that is this process's own: files that are mapped are everybody's."""
    now = psutil.Process().memory_info()
    return int(now.rss - getattr(now, "shared", 0))


def left_in_groups() -> list[int]:
    """What the process's control group and those around it have left."""
    with suppress(OSError, ValueError, StopIteration):  # older systems have no group 0
        own = _OWN_GROUPS.read_text().strip().splitlines()
        name = next(line[3:] for line in own if line.startswith("0::"))
        folder, found = _GROUPS / name.lstrip("/"), list[int]()
        for group in (folder, *folder.parents):
            if group == _GROUPS.parent:
                break
            found += left_in_group(group)
        return found
    return []


def left_in_group(group: Path) -> list[int]:
    """What a control group has left, without files' pages; nothing if it sets no limit."""
    with suppress(OSError, ValueError, StopIteration):
        most = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        lines = (group / "memory.stat").read_text().splitlines()
        files = sum(int(line.split()[1]) for line in lines if line.startswith(_OF_FILES))
        return [most - used + files]
    return []


_OF_FILES = ("inactive_file ", "active_file ")


def left_in_process() -> list[int]:
    """What the limit of the process's own data leaves; nothing if it sets no limit."""
    most, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY:
        return []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        used = next(int(line.split()[1]) for line in lines if line.startswith("VmData"))
        return [most - used * 1024]
    return []
