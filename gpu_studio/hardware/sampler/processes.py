"""The processes on the cards and those that use much of the host, and the host's own figures.

NVML lists the processes on the cards; psutil knows the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

from gpu_studio.common.figures import MIB
from gpu_studio.contract.samples import (
    MEASURED_NEXT,
    Host,
    HostProcess,
    HostProcesses,
    Process,
    Processes,
)
from gpu_studio.hardware.command_words import command_line, is_trainer
from gpu_studio.hardware.nvml import PROCESS_CALLS, Unknown
from gpu_studio.hardware.sampler.card import Answerer, SampledCard
from gpu_studio.hardware.source import KnownProcess

NOT_HERE = "no process of this host or container"
NO_MEMORY = "the driver does not tell how much of the card it uses"
LONGEST_COMMAND = 400


class People:
    """Queries the cards for their processes, and the host for who these are."""

    def __init__(self, known: Callable[[int], KnownProcess | None] | None = None) -> None:
        self._known = known or self._known_here
        self._here: dict[int, psutil.Process] = {}
        self._timed: set[int] = set()
        self._now: dict[int, KnownProcess | None] = {}

    def look(self, cards: Iterable[SampledCard], time: float) -> Processes:
        """All processes on these cards."""
        self._now = {}
        found: list[Process] = []
        why: dict[str, str] = {}
        for card in (each for whole in cards for each in whole.instances or (whole,)):
            on_card = _on_card(card)
            if isinstance(on_card, Unknown):
                why[card.key] = on_card.why
            else:
                found += [
                    self._reported(card.key, pid, kinds, memory)
                    for pid, (kinds, memory) in on_card.items()
                ]
        self._forget_others({process.pid for process in found})
        return Processes(time=time, processes=found, why=why)

    def _reported(self, card: str, pid: int, kinds: list[str], memory: int | None) -> Process:
        why = {} if memory is not None else {"memory_mib": NO_MEMORY}
        known = self._once(pid)
        facts: dict[str, Any] = {"card": card, "pid": pid, "kinds": kinds, "memory_mib": memory}
        if known is None:
            unknown = dict.fromkeys(("user", "command", "cpu_percent", "host_memory_mib"), NOT_HERE)
            return Process(**facts, why=why | unknown)
        if known.cpu_percent is None:
            why["cpu_percent"] = MEASURED_NEXT
        return Process(
            **facts,
            user=known.user,
            command=known.command,
            cpu_percent=known.cpu_percent,
            host_memory_mib=known.memory_mib,
            why=why,
        )

    def _once(self, pid: int) -> KnownProcess | None:
        """Cached for one pass over the cards, as the CPU share is that since the last call."""
        if pid not in self._now:
            self._now[pid] = self._known(pid)
        return self._now[pid]

    def _known_here(self, pid: int) -> KnownProcess | None:
        try:
            process = self._here.get(pid)
            if process is None or not process.is_running():
                process = self._here[pid] = psutil.Process(pid)
                self._timed.discard(pid)
            with process.oneshot():
                cpu = process.cpu_percent()
                command = command_line(process)
                memory = process.memory_info().rss // MIB
                user = process.username()
        except psutil.Error:
            return None
        first = pid not in self._timed
        self._timed.add(pid)
        return KnownProcess(user, command[:LONGEST_COMMAND], None if first else cpu, memory)

    def _forget_others(self, pids: set[int]) -> None:
        self._timed &= pids
        for pid in self._here.keys() - pids:
            del self._here[pid]


def is_used(card: SampledCard) -> bool:
    """Whether a process is on the card, or may be."""
    on_card = _on_card(card)
    return isinstance(on_card, Unknown) or bool(on_card)


def _on_card(card: Answerer) -> dict[int, tuple[list[str], int | None]] | Unknown:
    """The kinds and the memory in MiB of each process.

    One of two kinds is merged, with the larger memory.
    """
    found: dict[int, tuple[list[str], int | None]] = {}
    failures = []
    for kind, function in PROCESS_CALLS.items():
        listed = card.answer_once(kind, (function,))
        if isinstance(listed, Unknown):
            failures.append(listed)
            continue
        for entry in listed:
            kinds, memory = found.get(entry.pid, ([], None))
            found[entry.pid] = ([*kinds, kind], _larger(memory, entry.usedGpuMemory))
    return failures[0] if len(failures) == len(PROCESS_CALLS) else found


def _larger(mib: int | None, used: int | None) -> int | None:
    if used is None:
        return mib
    return max(mib or 0, used // MIB)


UNKNOWN_TO_SYSTEM = "the system does not tell"


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
                why.update(dict.fromkeys(names, str(error) or UNKNOWN_TO_SYSTEM))
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
    return process.name().startswith(_INTERPRETER) and is_trainer(command_line(process))


def _reported(process: psutil.Process, cpu: float | None, memory: int) -> HostProcess:
    return HostProcess(
        pid=process.pid,
        user=process.username(),
        command=command_line(process)[:LONGEST_COMMAND],
        cpu_percent=cpu,
        memory_mib=memory,
        why={"cpu_percent": MEASURED_NEXT} if cpu is None else {},
    )


def _weight(process: HostProcess) -> tuple[bool, float, int]:
    return _is_trainer(process), process.cpu_percent or 0.0, process.memory_mib or 0
