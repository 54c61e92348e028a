"""Who uses the host: the processes that take much of its cores or its memory, and every trainer."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

from gpu_studio.hardware.command_words import is_trainer
from gpu_studio.hardware.nvml import MIB
from gpu_studio.hardware.sampler.people import LONGEST_COMMAND, MEASURED_NEXT
from gpu_studio.hardware.samples import HostProcess, HostProcesses

LEAST_CPU = 20.0
"""Percent of one core from which a process counts as a user of the host."""
LEAST_MEMORY = 0.05
"""The share of the host's memory from which it does."""
MOST = 12
"""So many are told of at the most, unless there are more trainers."""
NOT_LISTED = "the system does not list its processes"
_INTERPRETER = "python"


class HostPeople:
    """Looks through all processes. A process's share of the cores is of the time since the look before."""

    def __init__(self) -> None:
        self._known: dict[int, psutil.Process] = {}
        self._kernel: set[int] = set()

    def look(self, time: float) -> HostProcesses:
        """Those that count now, the trainers first, then by their share of the cores and by their memory."""
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
        """What is told of a process; None if it is gone, or uses too little to be told of."""
        process, first = self._known.get(pid), pid not in self._known
        try:
            process = process or self._known.setdefault(pid, psutil.Process(pid))
            with process.oneshot():
                cpu, memory = process.cpu_percent(), process.memory_info().rss // MIB
                if cpu >= LEAST_CPU or memory >= least_mib or _trains(process):
                    return _told(process, None if first else cpu, memory)
                if not memory and not process.cmdline():
                    self._kernel.add(pid)  # a thread of the kernel, never a program: it is not looked at again
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


def _told(process: psutil.Process, cpu: float | None, memory: int) -> HostProcess:
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
