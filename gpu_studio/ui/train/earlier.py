"""The training of the runs that this run resumes, read in the background."""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile

import numpy as np
from PySide6.QtCore import QObject, Signal

from gpu_studio.contract import RunDirectory
from gpu_studio.runs.lineage import in_training_time, inherited_events
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.series import Array
from gpu_studio.ui.kit import BackgroundTask, Report


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """The training up to the step at which a run resumes, placed right before the run's start.

    The times in `history` are the `seconds` that had been trained by then. `clock` has the same
    moments as seconds before the run's start, negative, and the steps that had been trained by
    each, both of shape (points + 1,).
    """

    history: History
    seconds: float = field(init=False)
    clock: tuple[Array, Array] = field(init=False)

    def __post_init__(self) -> None:
        times, steps = self.history.losses.column("time"), self.history.losses.column("step")
        object.__setattr__(self, "seconds", float(times[-1]))
        # Damaged events may count backwards; an axis never does.
        trained = np.maximum.accumulate(np.concatenate((steps[:1] - 1, steps)))
        object.__setattr__(self, "clock", (np.concatenate(([0.0], times)) - self.seconds, trained))


class EarlierReader(QObject):
    """Reads once what `run` resumes.

    `changed` says that it is `found`; if there is nothing, it never fires.
    """

    changed = Signal()

    def __init__(self, run: RunDirectory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.found: Earlier | None = None
        self._task = BackgroundTask("earlier", self)
        self._task.done.connect(self._take)
        self._task.start_work(partial(_read, run))

    @property
    def reading(self) -> bool:
        """Whether something may still be found."""
        return self._task.busy

    def close(self) -> None:
        """Stop reading."""
        self._task.close(wait=False)

    def _take(self, history: History) -> None:
        seconds = history.losses.last("time")
        # Steps of zero or infinite duration have no place on an axis.
        if seconds and math.isfinite(seconds):
            self.found = Earlier(history)
            self.changed.emit()


def _read(run: RunDirectory, _report: Report, cancelled: threading.Event) -> History:
    history = History()
    with suppress(
        OSError
    ):  # what cannot be read of earlier runs is omitted; for the run itself it would be reported
        trained = in_training_time(inherited_events(run))
        history.inherit_all(takewhile(lambda _: not cancelled.is_set(), trained))
    return history
