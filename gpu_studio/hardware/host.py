"""The host's CPU and memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpu_studio.common.figures import MIB

CPU_INFO = Path("/proc/cpuinfo")


def host() -> dict[str, Any]:
    """The facts about the host, as fields of `gpu_studio.plan.Machine`."""
    return {"cpu_cores": cpu_cores(), "cpu_name": cpu_name(), "memory_mib": memory_mib()}


def cpu_cores() -> int:
    """How many cores this process may use: all, or those that it is bound to."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_mib() -> int:
    """The host's memory in MiB; 0 if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB
    except (ValueError, OSError):
        return 0


def cpu_name(cpu_info: Path = CPU_INFO) -> str:
    """The CPU's product name; empty if the system does not give it."""
    try:
        lines = cpu_info.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "")
