"""The stop ladder: ask for a stop, then SIGTERM, then SIGKILL, each after the trainer has had its time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import psutil

from gpu_studio.runs import lock
from gpu_studio.runs.commands import send
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.failures import kernel
from gpu_studio.runs.state import is_live

Stage = Literal["asked", "terminated", "killed", "gone"]
_NEXT: dict[Stage, Stage] = {"asked": "terminated", "terminated": "killed"}
# A file's time and a process' time come from two clocks of the kernel, a few milliseconds apart.
_CLOCK_SLACK = 2.0


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a trainer gets after it was asked, and after SIGTERM (which it takes as the same request)."""

    asked: float = 30.0
    terminated: float = 10.0


class StopLadder:
    """Stops one run, a rung at a time. Making it asks the trainer to stop, with a checkpoint, or without: `now`.

    It never waits: call `advance` from a timer or a loop until it answers `gone`. `escalate` goes one rung up at once.
    `problem` says in words why the trainer cannot be signalled, as on another computer; else it is empty.

    Raises OSError if the request cannot be written into the run directory.
    """

    def __init__(
        self,
        run: RunDirectory,
        *,
        now: bool = False,
        patience: Patience = Patience(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.run = run
        self.stage: Stage = "asked"
        self.problem = ""
        self._patience = patience
        self._clock = clock
        self._since = clock()
        send(run, "stop_now" if now else "stop")

    @property
    def seconds_left(self) -> float | None:
        """Seconds before the next rung; None if there is none."""
        patience = {"asked": self._patience.asked, "terminated": self._patience.terminated}.get(self.stage)
        return None if patience is None else max(0.0, self._since + patience - self._clock())

    def advance(self) -> Stage:
        """Go up a rung if the trainer still lives and its time is over; return where the ladder stands."""
        if not is_live(self.run):
            self.stage = "gone"
        elif self.seconds_left == 0.0:
            self._climb()
        return self.stage

    def escalate(self) -> Stage:
        """Go up a rung now if the trainer still lives."""
        if not is_live(self.run):
            self.stage = "gone"
        else:
            self._climb()
        return self.stage

    def _climb(self) -> None:
        following = _NEXT.get(self.stage)
        if following is None:
            return
        number = signal.SIGTERM if following == "terminated" else signal.SIGKILL
        self.problem = _signal(self.run, number)
        if not self.problem:
            self.stage, self._since = following, self._clock()


def _signal(run: RunDirectory, number: signal.Signals) -> str:
    """Send the trainer of `run` a signal; return why it could not be sent, empty if it was."""
    holder = lock.holder(run.lock_file)
    if holder is None:
        return "" if not is_live(run) else "It is not known which process the trainer is."
    if not holder.is_here:
        return f"The trainer runs on another computer, {holder.host}: stop it there."
    try:
        _deliver(run, holder, number)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return f"The trainer, process {holder.pid}, belongs to another user."
    return ""


def _deliver(run: RunDirectory, holder: lock.Holder, number: signal.Signals) -> None:
    pid = holder.pid
    if not _has_signed(run, holder):
        raise ProcessLookupError(pid)
    if number is signal.SIGKILL and _leads_group(pid):
        os.killpg(pid, number)  # with the processes it started, which could not end by themselves
    else:
        os.kill(pid, number)


def _has_signed(run: RunDirectory, holder: lock.Holder) -> bool:
    """Whether the holder's process is still the one that signed: a later one that got its number is not meant."""
    if holder.started is not None and holder.boot == kernel.boot_id():
        return kernel.started(holder.pid) == holder.started
    try:
        return psutil.Process(holder.pid).create_time() <= run.lock_file.stat().st_mtime + _CLOCK_SLACK
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False


def _leads_group(pid: int) -> bool:
    return os.getpgid(pid) == pid
