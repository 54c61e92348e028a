"""Processes that a test started and did not wait for, including detached ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
from grace import grace_s

# Python's own helper and the tests', which one process starts once and keeps.
_KNOWN = ("multiprocessing.resource_tracker", "warm_python.py --serve")

EXEC_S = 10.0
"""How long the step from one program to the next may take, on a machine that is busy."""
LOOKS = 20
"""So often is a process seen that is no longer between two programs, before it is taken to have
been given no environment: it may have gone on to the next program between two looks."""


def watch(home: Path, *, everywhere: bool) -> Callable[[], list[str]]:
    """Note this process's descendants.

    The answer lists, and kills, those that came since and do not end.

    `everywhere` finds also those that are nobody's child any more: they still have the test's
    `$HOME`."""
    before = set(_descendants())
    running = frozenset(psutil.pids()) if everywhere else frozenset()

    def leftovers() -> list[str]:
        now = set(_descendants()) | (at_home(home, running) if everywhere else set())
        new = [
            process
            for process in now - before
            if process.pid != os.getpid() and not _is_known(process)
        ]
        _, alive = psutil.wait_procs(new, timeout=grace_s()) if new else ([], [])
        return [text for process in alive if (text := _end(process))]

    return leftovers


def _descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True) if _has_children() else []


def _has_children() -> bool:
    """Whether to look for them at all: psutil asks every process there is.

    That takes longer than most tests. The kernel is asked, and all ended children stay to be
    waited for.
    """
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def at_home(home: Path, before: frozenset[int]) -> set[psutil.Process]:
    """Those whose `$HOME` is the test's.

    `before` are the process numbers in use when the test began.
    """
    return {
        process
        for process in _processes(pid for pid in psutil.pids() if _may_be_at(home, pid, before))
        if _environment(process, patient=process.pid not in before).get("HOME") == str(home)
    }


def _may_be_at(home: Path, pid: int, before: frozenset[int]) -> bool:
    """Whether to look closely, for which psutil takes several times as long as for this."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:  # noqa: PTH123 (a path takes longer)
            environment = file.readall()
    except OSError:  # another user's, or gone
        return False
    return b"HOME=" + os.fsencode(home) in environment if environment else pid not in before


def _processes(pids: Iterable[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            yield psutil.Process(pid)


def _environment(process: psutil.Process, *, patient: bool) -> dict[str, str]:
    """What the process was started with.

    Nothing if it is another user's, has ended, or is the system's own.

    In the middle of `execve` a process has none for an instant: `patient` reads again until it has.
    """
    try:
        found = process.environ()
        patience_end, looks = time.monotonic() + EXEC_S, 0
        while patient and not found and looks < LOOKS and time.monotonic() < patience_end:
            os.sched_yield()
            looks += not _is_starting(process)
            found = process.environ()
    except psutil.Error:
        return {}
    return found


def _is_starting(process: psutil.Process) -> bool:
    """Whether it may be between two programs: then it has no arguments either.

    A zombie is past them, and the kernel's own threads have none.
    """
    if process.status() == psutil.STATUS_ZOMBIE or not process.exe():
        return False
    return not process.cmdline()


def _is_known(process: psutil.Process) -> bool:
    try:
        command = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return any(known in command for known in _KNOWN)


def _end(process: psutil.Process) -> str:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        command = " ".join(process.cmdline())
        process.kill()
        psutil.wait_procs([process], timeout=grace_s())
    except psutil.NoSuchProcess:
        return ""
    return f"process {process.pid}, {command!r}"
