"""The host's figures, by psutil."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil

from gpu_studio.hardware.nvml import MIB
from gpu_studio.hardware.samples import Host

NOT_TOLD = "the system does not tell"
MEASURED_NEXT = "measured from the next time on"


class HostWatch:
    """The CPU, memory, swap, load, and the disk that `folder` is on."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._has_cpu = False

    def look(self, time: float) -> Host:
        """Everything now; the CPU's share since the last time."""
        values: dict[str, Any] = {}
        why: dict[str, str] = {}
        for names, part in (
            (("cpu_percent",), self._cpu),
            (("memory_used_mib", "memory_total_mib"), _memory),
            (("swap_used_mib", "swap_total_mib"), _swap),
            (("disk_free_mib", "disk_total_mib"), self._disk),
            (("load_1",), lambda: os.getloadavg()[:1]),
        ):
            try:
                values.update(zip(names, part(), strict=True))
            except (OSError, psutil.Error, ValueError, RuntimeError) as error:
                why.update(dict.fromkeys(names, str(error) or NOT_TOLD))
        return Host(time=time, **values, why=why)

    def _cpu(self) -> tuple[float]:
        percent = psutil.cpu_percent()
        if not self._has_cpu:
            self._has_cpu = True
            raise ValueError(MEASURED_NEXT)
        return (percent,)

    def _disk(self) -> tuple[int, int]:
        folder = _existing(self._folder or Path.home())
        disk = os.statvfs(folder)
        return disk.f_bavail * disk.f_frsize // MIB, disk.f_blocks * disk.f_frsize // MIB


def _memory() -> tuple[int, int]:
    memory = psutil.virtual_memory()
    return (memory.total - memory.available) // MIB, memory.total // MIB


def _swap() -> tuple[int, int]:
    swap = psutil.swap_memory()
    return swap.used // MIB, swap.total // MIB


def _existing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there: a runs folder is made with the first run."""
    return next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
