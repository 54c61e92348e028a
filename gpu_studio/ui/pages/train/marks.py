"""What happened in a run, as marks on its time axis."""

from __future__ import annotations

import numpy as np

from gpu_studio.runs.history import History
from gpu_studio.ui.widgets.plots.backdrop import Marks
from gpu_studio.ui.widgets.plots.decimate import Array


def marks(history: History) -> Marks:
    """Epoch ends, checkpoints still kept, warnings and a bad end, in seconds after the run's start, sorted."""
    if history.started is None:
        return {}
    start = history.started.time
    ended_badly = history.state in ("failed", "lost") and history.last_time is not None
    return {
        "epoch": history.epochs.times - start,
        "checkpoint": _times([saved.time - start for saved in history.checkpoints]),
        "warning": _times([warned.time - start for warned in history.warnings]),
        "error": _times([(history.last_time or start) - start] if ended_badly else []),
    }


def marks_version(history: History) -> tuple[object, ...]:
    """Changes exactly when `marks` gives others."""
    newest = history.checkpoints[-1].name if history.checkpoints else ""
    return (
        history.started is None,
        len(history.epochs),
        len(history.checkpoints),
        newest,
        len(history.warnings),
        history.state in ("failed", "lost"),
    )


def _times(seconds: list[float]) -> Array:
    return np.sort(np.array(seconds, dtype=np.float64))
