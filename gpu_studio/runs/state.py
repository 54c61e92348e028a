"""Which state a run is in, including the one that only a reader can conclude."""

from __future__ import annotations

from gpu_studio.regular_files import NotRegularError
from gpu_studio.runs import lock
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import ENDED, TERMINAL, Failed, Finished, State, decode
from gpu_studio.runs.files import last_lines

# A failure brings its traceback; more than this no terminal event holds.
_LAST_BYTES = 1024 * 1024


def is_live(run: RunDirectory) -> bool:
    """Say whether the trainer of `run` lives: its lock is held."""
    return lock.held(run.lock_file)


def state_of(run: RunDirectory, last_known: State = "starting") -> State:
    """Return the state of `run`, given the last that its events told.

    `lost` if nobody holds the lock and there is no terminal event. The lock is asked first and the end of the file
    read after it, so a trainer that says its last word and goes between two looks is not taken for lost.
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
    """Return the trainer's last word; None if it has not said one."""
    for line in reversed(_last_lines(run)):
        event = decode(line)
        if isinstance(event, TERMINAL):
            return event
    return None


def _last_lines(run: RunDirectory) -> list[bytes]:
    try:
        return last_lines(run.events_file, _LAST_BYTES)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, NotRegularError, PermissionError):
        return []  # nothing that a trainer could have said, or nothing that this user may know
