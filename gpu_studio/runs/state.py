"""The state of a run, including `lost`, which only a reader can conclude."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.common.safe_files import NotRegularError
from gpu_studio.contract import (
    ENDED,
    TERMINAL,
    Failed,
    Finished,
    RunDirectory,
    State,
    last_lines,
    lock,
)
from gpu_studio.contract.events import decode

# A failure includes its traceback; no terminal event is longer than this.
_LAST_BYTES = 1024 * 1024


def is_live(run: RunDirectory) -> bool:
    """Say whether the trainer of `run` is alive: its lock is held."""
    return lock.held(run.lock_file)


def state_of(run: RunDirectory, last_known: State = "starting") -> State:
    """Return the state of `run`, given the last one in its events.

    `lost` if nobody holds the lock and there is no terminal event. The lock is checked before the
    end of the file is read, so that a trainer that writes its final event and exits in between does
    not count as lost.
    """
    if last_known in ENDED and last_known != "lost":
        return last_known
    if is_live(run):
        return "starting" if last_known == "lost" else last_known
    return terminal_state(run) or "lost"


def terminal_state(run: RunDirectory) -> State | None:
    """Return `finished`, `stopped` or `failed` if the events end so; None if they do not."""
    ending = terminal_event(run)
    return ending.state if ending else None


def terminal_event(run: RunDirectory) -> Finished | Failed | None:
    """Return the trainer's final event; None if there is none."""
    for line in reversed(_last_lines(run)):
        event = decode(line)
        if isinstance(event, TERMINAL):
            return event
    return None


def _last_lines(run: RunDirectory) -> list[bytes]:
    try:
        return last_lines(run.events_file, _LAST_BYTES)
    except (
        FileNotFoundError,
        NotADirectoryError,
        IsADirectoryError,
        NotRegularError,
        PermissionError,
    ):
        return []  # not written by a trainer, or not readable by this user


def live_run(runs: Path) -> RunDirectory | None:
    """The newest run whose trainer is alive; None if there is none."""
    return next(iter(live_runs(runs)), None)


def live_runs(runs: Path) -> list[RunDirectory]:
    """Every run whose trainer is alive, the newest first.

    Checks only locks: the window's start waits.
    """
    found = [RunDirectory(lock.parent) for lock in runs.glob("[!.]*/trainer.lock")]
    return sorted(filter(is_live, found), key=lambda run: run.id, reverse=True)
