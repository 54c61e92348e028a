"""How an entry of the queue is, as it stands in its row."""

from __future__ import annotations

from gpu_studio.runs.queueing.queue_entry import Entry, Wait
from gpu_studio.runs.wording import moment


def state_of(entry: Entry, wait: Wait | None) -> str:
    """Why an entry is held; or what it waits for, since when, who has that, and whether it lets others pass."""
    if entry.held:
        return entry.held if entry.held.startswith("held") else f"held: {entry.held}"
    if wait is None:
        return "starts now" if entry.now else "waits"
    begun = f"waits since {moment(wait.since)}" if wait.since else "waits"
    passed = ", letting others pass," if entry.lets_pass else ""
    return wait.text.replace("waits", f"{begun}{passed}", 1)
