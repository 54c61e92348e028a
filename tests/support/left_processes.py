"""Processes that a test started and did not wait for, detached ones included."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import psutil
from grace import GRACE_S

# Python's own helper and the tests', which one process starts once and keeps.
_KNOWN = ("multiprocessing.resource_tracker", "warm_python.py --serve")


def watch(home: Path, *, everywhere: bool) -> Callable[[], list[str]]:
    """Note this process's descendants; the answer lists, and kills, those that came since and do not end.

    `everywhere` finds also those that are nobody's child any more: they still have the test's `$HOME`.
    """
    before = set(_descendants())

    def leftovers() -> list[str]:
        now = set(_descendants()) | (_at_home(home) if everywhere else set())
        new = [process for process in now - before if process.pid != os.getpid() and not _is_known(process)]
        _, alive = psutil.wait_procs(new, timeout=GRACE_S) if new else ([], [])
        return [text for process in alive if (text := _end(process))]

    return leftovers


def _descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True) if _has_children() else []


def _has_children() -> bool:
    """Whether to look for them at all: psutil asks every process there is, which takes longer than most tests."""
    try:
        return any((thread / "children").read_bytes() for thread in Path("/proc/self/task").iterdir())
    except OSError:  # not told on this system, or a thread has just ended
        return True


def _at_home(home: Path) -> set[psutil.Process]:
    return {process for process in psutil.process_iter() if _environment(process).get("HOME") == str(home)}


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


def _is_known(process: psutil.Process) -> bool:
    try:
        command = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return any(known in command for known in _KNOWN)


def _end(process: psutil.Process) -> str:
    try:
        command = " ".join(process.cmdline())
        if not command:
            return ""
        process.kill()
        psutil.wait_procs([process], timeout=GRACE_S)
    except psutil.NoSuchProcess:
        return ""
    return f"process {process.pid}, {command!r}"
