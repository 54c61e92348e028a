"""One plan that waits in the queue, as it stands on disk."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from gpu_studio.regular_files import read_text
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import write_private

_LONGEST_ID = 1024
HELD_BY_HAND = "held by hand"
FORSAKEN = "waits: nobody works the queue"
"""The state of what may start while no process is there to start it."""


class Entry(msgspec.Struct, kw_only=True, frozen=True):
    """A plan that waits. `name` is the plan's, `added` the time, `base` the folder in which its trainer starts.

    `predicted` has the bytes that it takes of each logical device, where they were known; `held` says why it is not
    to start by itself, and is empty if it may; `now` that it shall start whatever is free, and `lets_pass` that those
    behind it may start on what it waits for. A runner has `claimed` it, at that time, when it was about to start it.
    With `run` it goes on with that run, from `checkpoint`.
    """

    id: str
    name: str
    added: float
    base: str
    predicted: dict[str, int] = {}
    held: str = ""
    now: bool = False
    lets_pass: bool = False
    claimed: float = 0.0
    run: str = ""
    checkpoint: str = ""


class Wait(msgspec.Struct, frozen=True):
    """What an entry waits for, in words, and `since` when it is waiting for that."""

    text: str
    since: float = 0.0

    @property
    def what(self) -> str:
        """What it waits for, without how much of that is there now and who has it."""
        return self.text.partition(": ")[0]


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken out of the queue, with the text of its plan, and where it stood: to put it back."""

    entry: Entry
    text: str
    place: int


def note_in(run: RunDirectory, entry: str) -> None:
    """Write into a run's directory which entry of the queue it came of. Raises OSError."""
    write_private(run.queued_file, f"{entry}\n".encode())


def noted_in(run: RunDirectory) -> str:
    """Which entry of the queue a run came of; empty if it was started by hand."""
    try:
        return read_text(run.queued_file, _LONGEST_ID).strip()
    except OSError:
        return ""
