"""Stop the trainer of a run: a request, then SIGTERM, then SIGKILL, each after a grace period.

Nothing is done after SIGKILL: what survives it cannot be ended from here, and that is
reported. A process is signalled only if it has the run's lock open, and a trainer whose
folder was moved is found by the lock that it still holds.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from gpu_studio.contract import Holder, RunDirectory, kernel, lock, send
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
    if not has_signed(run.lock_file, holder):
        return _gone(run, holder)
    if psutil.Process(holder.pid).uids().effective != os.geteuid():
        raise PermissionError(holder.pid)
    if not has_open(holder.pid, run.lock_file):
        return (
            f"Process {holder.pid} does not hold the lock of this run, although "
            f"{run.lock_file.name} says so: it is left alone.{_holders(run)}"
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
        f"card that does not answer. Look at the kernel's messages, with: dmesg.{_holders(run)}"
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


def has_signed(lock_file: Path, holder: lock.Holder) -> bool:
    """Whether the process is the one that signed, and not a later one with the same id."""
    if holder.started is not None and holder.boot == kernel.boot_id():
        return kernel.started(holder.pid) == holder.started
    try:
        return psutil.Process(holder.pid).create_time() <= lock_file.stat().st_mtime + _CLOCK_SLACK
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False


PROCESSES = Path("/proc")


def has_open(pid: int, path: Path) -> bool:
    """Whether process `pid` of this computer has the file open.

    Raises PermissionError, ProcessLookupError.
    """
    try:
        wanted = path.stat()
    except OSError:
        return False
    if not (PROCESSES / "self" / "fd").is_dir():
        return _has_open_elsewhere(pid, wanted)
    try:
        return any(_is(entry, wanted) for entry in os.scandir(PROCESSES / str(pid) / "fd"))
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None


def who_has_open(path: Path) -> list[int]:
    """The other processes that have the file at `path` open; other users' are not visible."""
    return [pid for pid in psutil.pids() if pid != os.getpid() and _may_have_open(pid, path)]


def _may_have_open(pid: int, path: Path) -> bool:
    try:
        return has_open(pid, path)
    except OSError:
        return False


def _is(entry: os.DirEntry[str], wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(entry.stat(), wanted)
    except OSError:  # closed meanwhile
        return False


def _has_open_elsewhere(pid: int, wanted: os.stat_result) -> bool:
    """For systems without /proc, such as macOS."""
    try:
        return any(
            os.path.samestat(Path(file.path).stat(), wanted)
            for file in psutil.Process(pid).open_files()
        )
    except psutil.AccessDenied:
        raise PermissionError(pid) from None
    except psutil.NoSuchProcess:
        raise ProcessLookupError(pid) from None


@dataclass(frozen=True, slots=True)
class Astray:
    """The process `pid` trains on, in a run whose folder was moved to `run`."""

    pid: int
    run: RunDirectory


def astray(run: RunDirectory, holder: Holder | None) -> Astray | None:
    """The trainer of `run`, last known as `holder`, if its folder was moved while it runs.

    None if the folder was deleted: such a trainer ends by itself.
    """
    # Not by the folder: a trainer that is stopped may recreate it for its last checkpoint.
    if holder is None or run.lock_file.exists() or not _lives(holder):
        return None
    moved = _where_its_lock_is(holder.pid, run.lock_file.name)
    return Astray(holder.pid, RunDirectory(moved.parent)) if moved is not None else None


def _lives(holder: Holder) -> bool:
    """Whether the process is the one that signed, and not a later one with the same id."""
    same_start = holder.is_here and holder.boot == kernel.boot_id()
    return (
        same_start and holder.started is not None and kernel.started(holder.pid) == holder.started
    )


def _where_its_lock_is(pid: int, name: str) -> Path | None:
    """The present path of the lock that the process has open; None if it was deleted."""
    try:
        links = [_target(entry) for entry in (PROCESSES / str(pid) / "fd").iterdir()]
    except OSError:
        return None
    return next((path for path in links if path and path.name == name and lock.held(path)), None)


def _target(entry: Path) -> Path | None:
    try:
        return entry.readlink()
    except OSError:  # closed meanwhile
        return None
