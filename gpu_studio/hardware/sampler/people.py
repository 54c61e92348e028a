"""The processes on the cards, and what the host knows about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import psutil

from gpu_studio.common.figures import MIB
from gpu_studio.contract.samples import Process, Processes
from gpu_studio.hardware.nvml import Unknown
from gpu_studio.hardware.questions import PROCESS_CALLS
from gpu_studio.hardware.sampler.card import Answerer, SampledCard
from gpu_studio.hardware.source import KnownProcess

NOT_HERE = "no process of this host or container"
MEASURED_NEXT = "measured from the next time on"
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
                command = " ".join(process.cmdline()) or process.name()
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
