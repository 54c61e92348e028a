"""Find trainers that keep running although their run's folder was moved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpu_studio.contract import kernel, lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.lock import Holder
from gpu_studio.runs.open_files import PROCESSES


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
