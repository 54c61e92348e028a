"""The stop ladder: request a stop, then SIGTERM, then SIGKILL, each after a grace period.

It ends there: what survives SIGKILL cannot be ended from here, and that is reported.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import psutil

from gpu_studio.contract import kernel, lock
from gpu_studio.contract.commands import send
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.open_files import has_open, who_has_open
from gpu_studio.runs.state import is_live

Stage = Literal["asked", "terminated", "killed", "stuck", "gone"]
_NEXT: dict[Stage, Stage] = {"asked": "terminated", "terminated": "killed", "killed": "stuck"}
_SIGNALS: dict[Stage, signal.Signals] = {"terminated": signal.SIGTERM, "killed": signal.SIGKILL}
# File times and process times come from two kernel clocks, a few milliseconds apart.
_CLOCK_SLACK = 2.0


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a trainer gets after the request, and after SIGTERM, which means the same to it.

    After SIGKILL it is the system's time to clean up the process.
    """

    asked: float = 30.0
    terminated: float = 10.0
    killed: float = 10.0


class StopLadder:
    """Stops one run, one rung at a time. Creating it requests the stop, with a checkpoint or `now`.

    If the disk does not take the request, it begins at SIGTERM, which means the same, or with `now`
    at SIGKILL.

    It never waits: call `advance` from a timer or a loop until it returns `gone`, or `stuck`: then
    nothing more can be done. `escalate` goes one rung up at once. `problem` says in words why the
    trainer cannot be signalled, as on another computer, or why it is stuck; else it is empty.
    `refusal` says why the disk took no request, if so.
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
        self.refusal = ""
        self._patience = patience
        self._clock = clock
        self._since = clock()
        try:
            send(run, "stop_now" if now else "stop")
        except OSError as error:
            self.refusal = error.strerror or str(error)
            self._climb_to("killed" if now else "terminated")

    @property
    def said(self) -> str:
        """The last action, or why none was possible, as a sentence.

        Empty once the trainer is gone.
        """
        why = (
            f"Its folder takes no request ({self.refusal})"
            if self.refusal
            else "It has not stopped"
        )
        words = {
            "asked": "Asked it to stop.",
            "terminated": f"{why}: sent SIGTERM.",
            "killed": f"{why}: sent SIGKILL.",
        }
        return self.problem or words.get(self.stage, "")

    @property
    def seconds_left(self) -> float | None:
        """Seconds before the next rung; None if there is none."""
        patience: float | None = getattr(self._patience, self.stage, None)
        return None if patience is None else max(0.0, self._since + patience - self._clock())

    def advance(self) -> Stage:
        """Go up a rung if the trainer is still alive and its time is over; return the position."""
        return self._go_on(climbs=self.seconds_left == 0.0)

    def escalate(self) -> Stage:
        """Go up a rung now if the trainer is still alive."""
        return self._go_on(climbs=True)

    def _go_on(self, *, climbs: bool) -> Stage:
        following = _NEXT.get(self.stage)
        if not is_live(self.run):
            self.stage, self.problem = "gone", ""
        elif climbs and following is not None:
            self._climb_to(following)
        return self.stage

    def _climb_to(self, stage: Stage) -> None:
        number = _SIGNALS.get(stage)
        self.problem = _signal(self.run, number) if number else _survived(self.run)
        if not self.problem or number is None:
            self.stage, self._since = stage, self._clock()


def _signal(run: RunDirectory, number: signal.Signals) -> str:
    """Send the trainer of `run` a signal; return why it could not be sent, empty if it was."""
    holder = lock.holder(run.lock_file)
    if holder is None:
        return "" if not is_live(run) else "It is not known which process the trainer is."
    if not holder.is_here:
        return f"The trainer runs on another computer, {holder.host}: stop it there."
    if holder.namespace not in ("", kernel.pid_namespace()):
        return "The trainer runs in another container of this computer: stop it there."
    try:
        return _why_not(run, holder) or _deliver(holder.pid, number)
    except (ProcessLookupError, psutil.NoSuchProcess):
        return _gone(run, holder)
    except PermissionError:
        return (
            f"The trainer, process {holder.pid}, belongs to another user: "
            "it is stopped by its owner only."
        )


def _why_not(run: RunDirectory, holder: lock.Holder) -> str:
    """Why the process that signed the lock must not be signalled: anyone may have forged that.

    Raises PermissionError if it is another user's, ProcessLookupError or NoSuchProcess if there is
    none.
    """
    if not _has_signed(run, holder):
        return _gone(run, holder)
    if psutil.Process(holder.pid).uids().effective != os.geteuid():
        raise PermissionError(holder.pid)
    if not has_open(holder.pid, run.lock_file):
        return (
            f"Process {holder.pid} does not hold the lock of this run, although "
            f"{run.lock_file.name} says so: "
            f"it is left alone.{_holders(run)}"
        )
    return ""


def _gone(run: RunDirectory, holder: lock.Holder) -> str:
    if not is_live(run):
        return ""
    return (
        f"Process {holder.pid}, the trainer of this run, is gone, but its lock is still "
        f"held.{_holders(run)}"
    )


def _survived(run: RunDirectory) -> str:
    holder = lock.holder(run.lock_file)
    who = f"Process {holder.pid}" if holder else "The trainer"
    return (
        f"{who} was sent SIGKILL, but has not ended: it may hang in the kernel, at a disk or a "
        "card that does not "
        f"answer. Look at the kernel's messages, with: dmesg.{_holders(run)}"
    )


def _holders(run: RunDirectory) -> str:
    pids = [str(pid) for pid in who_has_open(run.lock_file)]
    return f" The lock is held by process {' or '.join(pids)}." if pids else ""


def _deliver(pid: int, number: signal.Signals) -> str:
    if number is signal.SIGKILL and os.getpgid(pid) == pid:
        os.killpg(pid, number)  # with its child processes, which could not end by themselves
    else:
        os.kill(pid, number)
    return ""


def _has_signed(run: RunDirectory, holder: lock.Holder) -> bool:
    """Whether the process is the one that signed, and not a later one with the same id."""
    if holder.started is not None and holder.boot == kernel.boot_id():
        return kernel.started(holder.pid) == holder.started
    try:
        return (
            psutil.Process(holder.pid).create_time() <= run.lock_file.stat().st_mtime + _CLOCK_SLACK
        )
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False
