"""Trainers that go on although the folder of their run was moved: nobody sees them any more where the run was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpu_studio.runs import lock
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.failures import kernel
from gpu_studio.runs.lock import Holder
from gpu_studio.runs.open_files import PROCESSES


@dataclass(frozen=True, slots=True)
class Astray:
    """The process `pid` trains on, in a run whose folder was moved to `run`."""

    pid: int
    run: RunDirectory


def astray(run: RunDirectory, holder: Holder | None) -> Astray | None:
    """The trainer of `run`, which `holder` was when its folder was last seen, if only the folder has gone.

    None of one whose folder was deleted: such a trainer ends by itself.
    """
    # Not by the folder: a trainer that is asked to end may make it again, for its last checkpoint.
    if holder is None or run.lock_file.exists() or not _lives(holder):
        return None
    moved = _where_its_lock_is(holder.pid, run.lock_file.name)
    return Astray(holder.pid, RunDirectory(moved.parent)) if moved is not None else None


def _lives(holder: Holder) -> bool:
    """Whether the process is still the one that signed: a later one that got its number is not meant."""
    same_start = holder.is_here and holder.boot == kernel.boot_id()
    return same_start and holder.started is not None and kernel.started(holder.pid) == holder.started


def _where_its_lock_is(pid: int, name: str) -> Path | None:
    """The lock that the process has open, under the path that it has now; None if it is nowhere any more."""
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
