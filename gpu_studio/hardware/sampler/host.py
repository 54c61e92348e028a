"""The host's figures, and the processes that use much of it, from psutil."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from gpu_studio.common.figures import MIB
from gpu_studio.contract.samples import Host, HostProcess, HostProcesses
from gpu_studio.hardware.command_words import is_trainer
from gpu_studio.hardware.sampler.people import LONGEST_COMMAND, MEASURED_NEXT

NOT_TOLD = "the system does not tell"


class HostWatch:
    """CPU, memory, swap, load, and the disk that contains `folder`."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._has_cpu = False

    def look(self, time: float) -> Host:
        """The current figures; the CPU's share is since the last call."""
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
    """The folder, or its nearest existing parent: a runs folder is created with the first run."""
    return next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))


LEAST_CPU = 20.0
"""Percent of one core from which a process counts as a heavy user of the host."""
LEAST_MEMORY = 0.05
"""The share of the host's memory from which a process counts as a heavy user."""
MOST = 12
"""At most this many are reported, unless there are more trainers."""
NOT_LISTED = "the system does not list its processes"
_INTERPRETER = "python"


class HostPeople:
    """Scans all processes. A process's CPU share is over the time since the previous scan."""

    def __init__(self) -> None:
        self._known: dict[int, psutil.Process] = {}
        self._kernel: set[int] = set()

    def look(self, time: float) -> HostProcesses:
        """The heavy users: trainers first, then by CPU share and memory."""
        try:
            pids = psutil.pids()
            least_mib = psutil.virtual_memory().total // MIB * LEAST_MEMORY
        except (psutil.Error, OSError):
            return HostProcesses(time=time, processes=[], why=NOT_LISTED)
        self._forget_all_but(pids)
        seen = (self._seen(pid, least_mib) for pid in pids if pid not in self._kernel)
        found = sorted((each for each in seen if each is not None), key=_weight, reverse=True)
        return HostProcesses(time=time, processes=found[: max(MOST, sum(map(_is_trainer, found)))])

    def _seen(self, pid: int, least_mib: float) -> HostProcess | None:
        """The sample of a process; None if it is gone or uses too little."""
        process, first = self._known.get(pid), pid not in self._known
        try:
            process = process or self._known.setdefault(pid, psutil.Process(pid))
            with process.oneshot():
                cpu, memory = process.cpu_percent(), process.memory_info().rss // MIB
                if cpu >= LEAST_CPU or memory >= least_mib or _trains(process):
                    return _reported(process, None if first else cpu, memory)
                if not memory and not process.cmdline():
                    self._kernel.add(
                        pid
                    )  # a kernel thread, never a program: it is not scanned again
        except (psutil.Error, OSError):
            pass
        return None

    def _forget_all_but(self, pids: Iterable[int]) -> None:
        alive = set(pids)
        self._kernel &= alive
        for pid in self._known.keys() - alive:
            del self._known[pid]


def _is_trainer(process: HostProcess) -> bool:
    return is_trainer(process.command or "")


def _trains(process: psutil.Process) -> bool:
    return process.name().startswith(_INTERPRETER) and is_trainer(_command(process))


def _reported(process: psutil.Process, cpu: float | None, memory: int) -> HostProcess:
    return HostProcess(
        pid=process.pid,
        user=process.username(),
        command=_command(process)[:LONGEST_COMMAND],
        cpu_percent=cpu,
        memory_mib=memory,
        why={"cpu_percent": MEASURED_NEXT} if cpu is None else {},
    )


def _command(process: psutil.Process) -> str:
    return " ".join(process.cmdline()) or process.name()


def _weight(process: HostProcess) -> tuple[bool, float, int]:
    return _is_trainer(process), process.cpu_percent or 0.0, process.memory_mib or 0
