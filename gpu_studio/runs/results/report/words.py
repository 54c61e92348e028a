"""Sentences of a report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from gpu_studio.common.figures import duration
from gpu_studio.contract.events import State
from gpu_studio.runs.results.run_figures import RunFigures

_ENDS: Final = {
    "completed": "Completed",
    "early_stopping": "Ended early, because it did not get better any more,",
    "stopped": "Stopped, with a checkpoint,",
    "stopped_now": "Stopped, without a checkpoint,",
}
_LIVE: Final = {
    "starting": "Starting",
    "running": "Still training",
    "paused": "Paused",
    "stopping": "About to stop",
    "failed": "Failed",
    "lost": "Lost: the trainer ended without a word,",
}

STATES: Final[dict[State, str]] = {
    "starting": "accent",
    "running": "good",
    "paused": "warning",
    "stopping": "warning",
    "finished": "good",
    "stopped": "warning",
    "failed": "bad",
    "lost": "bad",
}
"""The class that colours a state; the word always stands beside it."""


def outcome(run: RunFigures) -> str:
    """The run's state or end, and how far it came."""
    begun = (
        _ENDS[run.finished.reason]
        if run.finished
        else _LIVE.get(run.summary.state, run.summary.state)
    )
    much = f": {run.summary.trained} trained" if run.summary.trained else ", before the first step"
    return f"{begun} after {duration(run.summary.seconds)}{much}."


def moment(time: float) -> str:
    """Write a time unambiguously: `2026-11-21 14:02 UTC`."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M} UTC"
