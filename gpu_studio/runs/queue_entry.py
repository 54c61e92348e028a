"""One plan in the queue: its data on disk, and its state in words."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from gpu_studio.common.figures import moment
from gpu_studio.common.safe_files import read_text
from gpu_studio.contract import RunDirectory, write_private

_LONGEST_ID = 1024
HELD_BY_HAND = "held by hand"
FORSAKEN = "waits: nobody works the queue"
"""The state of what may start while no process is there to start it."""


class QueueEntry(msgspec.Struct, kw_only=True, frozen=True):
    """A waiting plan. `name` is the plan's, `added` the time, `base` the trainer's start folder.

    `predicted` has the bytes that it takes on each logical device, if known, of which those that
    are `incomplete` lack cuDNN's workspaces or what XLA changes, and of those in `bounds` most
    steps take less; `held` says why it does not start
    by itself, and is empty if it may; `now` that it starts whatever is free, and `lets_pass` that
    later entries may start on what it waits for. A runner `claimed` it, at that time, just before
    starting it. With `run` it continues that run, from `checkpoint`.
    """

    id: str
    name: str
    added: float
    base: str
    predicted: dict[str, int] = {}
    incomplete: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    held: str = ""
    now: bool = False
    lets_pass: bool = False
    claimed: float = 0.0
    run: str = ""
    checkpoint: str = ""


class Wait(msgspec.Struct, frozen=True):
    """What an entry waits for, in words, and `since` when."""

    text: str
    since: float = 0.0

    @property
    def what(self) -> str:
        """What it waits for, without how much of that is free and who has it."""
        return self.text.partition(": ")[0]


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed entry with the text of its plan and its position, to restore it."""

    entry: QueueEntry
    text: str
    place: int


def note_in(run: RunDirectory, entry: str) -> None:
    """Write into a run's directory the queue entry that it came from. Raises OSError."""
    write_private(run.queued_file, f"{entry}\n".encode())


def noted_in(run: RunDirectory) -> str:
    """The queue entry that a run came from; empty if it was started by hand."""
    try:
        return read_text(run.queued_file, _LONGEST_ID).strip()
    except OSError:
        return ""


def state_of(entry: QueueEntry, wait: Wait | None) -> str:
    """Why an entry is held, or what it waits for.

    With it: since when, who has that, and whether it lets others pass.
    """
    if entry.held:
        return entry.held if entry.held.startswith("held") else f"held: {entry.held}"
    if wait is None:
        return "starts now" if entry.now else "waits"
    begun = f"waits since {moment(wait.since)}" if wait.since else "waits"
    passed = ", letting others pass," if entry.lets_pass else ""
    return wait.text.replace("waits", f"{begun}{passed}", 1)
