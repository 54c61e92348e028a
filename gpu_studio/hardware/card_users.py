"""The processes that hold a card's memory, as the driver lists them and the host knows them."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gpu_studio.common.figures import MIB
from gpu_studio.hardware.command_words import short_command
from gpu_studio.hardware.nvml import Unknown, query
from gpu_studio.hardware.questions import PROCESS_CALLS
from gpu_studio.hardware.source import KnownProcess


def users_of(
    card: Any, known: Callable[[int], KnownProcess | None] | None = None
) -> list[dict[str, Any]]:
    """The processes on the card with this handle as `gpu_studio.plan.CardUser`, the largest first.

    `known` identifies a process, by default by asking this host. What the driver does not report is
    left out.
    """
    held: dict[int, int | None] = {}
    for function in PROCESS_CALLS.values():
        listed = query(function, card)
        for entry in () if isinstance(listed, Unknown) else listed:
            used = None if entry.usedGpuMemory is None else entry.usedGpuMemory // MIB
            held[entry.pid] = max(filter(None, (held.get(entry.pid), used)), default=used)
    users = [
        {"pid": pid, "used_mib": used, **_reported((known or known_here)(pid))}
        for pid, used in held.items()
    ]
    return sorted(users, key=lambda user: -(user["used_mib"] or 0))


def known_here(pid: int) -> KnownProcess | None:
    """What this host knows of a process; None if it is not one of this host's."""
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return KnownProcess(
                process.username(), " ".join(process.cmdline()) or process.name(), None, 0
            )
    except psutil.Error:
        return None


def _reported(known: KnownProcess | None) -> dict[str, str]:
    if known is None:
        return {}
    return {
        "command": short_command(known.command),
        "user": "" if known.user == _me() else known.user,
    }


def _me() -> str:
    with suppress(OSError, KeyError):
        return getpass.getuser()
    return ""
