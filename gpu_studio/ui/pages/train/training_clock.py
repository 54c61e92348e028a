"""The time axis of a run: the seconds in which it trained."""

from __future__ import annotations

import math

import numpy as np

from gpu_studio.runs.reading.history import History
from gpu_studio.ui.pages.train.marks import pauses
from gpu_studio.ui.widgets.plots.ruler import TIME, Ruler, TrainingTime


class TrainingClock:
    """Gives the ruler of a run as it is now: the same one as long as it counts the same."""

    def __init__(self) -> None:
        self._of: object = None
        self._ruler = TIME

    def ruler(self, history: History, *, earlier: bool = False) -> Ruler:
        """Count from the first step on, without pauses; before the first step, every second.

        Where something `earlier` is shown before the run's start, the while from there to the first step is a pause.
        """
        if history.started is None or not len(history.losses):
            return TIME
        first = float(history.losses.column("time")[0]) - history.started.time
        held = [(span.start, span.end) for span in pauses(history) if span.end > first]
        if held and history.state == "paused":
            held[-1] = held[-1][0], math.inf
        held = [(max(begin, first), end) for begin, end in held]
        if earlier:
            first, held = 0.0, [(0.0, first), *held]
        found = first, tuple(held)
        if found != self._of:
            begins, ends = np.array(held, dtype=np.float64).reshape(-1, 2).T
            self._of, self._ruler = found, TrainingTime(first=first, begins=begins, ends=ends)
        return self._ruler
