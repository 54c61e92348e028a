"""The desktop notification of ended runs: a title and a line."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpu_studio.common.figures import duration, metric, metric_words
from gpu_studio.contract import Failed, Finished, Model, RunDirectory
from gpu_studio.runs.end_reports import ended_at
from gpu_studio.runs.labels import title_of
from gpu_studio.runs.reading.event_file import first_of
from gpu_studio.runs.reading.progress import reached
from gpu_studio.runs.state import terminal_event

LONGEST = 240
MOST_METRICS = 2
MOST_RUNS = 3
"""So many of several runs are named; a notification has a few lines."""
_LONG_AGO = 60.0
"""Seconds after which it is said when it was."""


def in_words(run: RunDirectory, now: float | None = None) -> tuple[str, str]:
    """Return a title and a line on how `run` ended, and how long ago if not just now."""
    title, text = _reported(run)
    ended = ended_at(run)
    ago = (time.time() if now is None else now) - ended if ended is not None else 0.0
    return title, f"{duration(ago)} ago · {text}" if ago >= _LONG_AGO else text


def all_in_words(runs: Sequence[RunDirectory], now: float | None = None) -> tuple[str, str]:
    """Return the title and line of one notification on how all of `runs` ended.

    For a single run, they are those of `in_words`.
    """
    if len(runs) == 1:
        return in_words(runs[0], now)
    named = [_reported(run)[0] for run in runs[:MOST_RUNS]]
    more = [f"and {len(runs) - MOST_RUNS} more"] if len(runs) > MOST_RUNS else []
    return f"{len(runs)} runs have ended", " · ".join([*named, *more])


def _reported(run: RunDirectory) -> tuple[str, str]:
    name, end = title_of(run), terminal_event(run)
    if isinstance(end, Finished):
        figures = [
            f"{metric_words(key, end.metrics)} {metric(value)}"
            for key, value in end.metrics.items()
            if value is not None
        ]
        because = [end.because.rstrip(".")] if end.because else []
        words = [
            *because,
            _reached(run, end),
            f"took {duration(end.seconds)}",
            *figures[:MOST_METRICS],
        ]
        return f"{name} {'was stopped' if end.state == 'stopped' else 'has finished'}", " · ".join(
            words
        )
    if isinstance(end, Failed):
        return f"{name} has failed", end.message[:LONGEST]
    return (
        f"{name} was lost",
        "Its trainer is gone without a last word. The Train page says what is known.",
    )


def _reached(run: RunDirectory, end: Finished) -> str:
    try:
        model = first_of(run, Model)
    except OSError:
        model = None
    return reached(
        end.step, model.steps_per_epoch if model else None, model.epochs if model else None
    )
