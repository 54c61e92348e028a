"""What the runs had trained that a run goes on from, read beside the window's thread."""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Final

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.lineage import in_training_time, inherited_events
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.series import Array
from gpu_studio.ui.models.background import Background, Tell

_LOOK_MS: Final = 15


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """The training up to the step that a run goes on from: all of it lies before the run's start, without a break.

    The times in `history` are the `seconds` that had been trained by then. `clock` has the same moments as seconds
    before the run's start, negative, and the steps that had been trained by each, both of shape (points + 1,).
    """

    history: History
    seconds: float = field(init=False)
    clock: tuple[Array, Array] = field(init=False)

    def __post_init__(self) -> None:
        times, steps = self.history.losses.column("time"), self.history.losses.column("step")
        object.__setattr__(self, "seconds", float(times[-1]))
        # Events that were damaged may count backwards; an axis never does.
        trained = np.maximum.accumulate(np.concatenate((steps[:1] - 1, steps)))
        object.__setattr__(self, "clock", (np.concatenate(([0.0], times)) - self.seconds, trained))


class EarlierReader(QObject):
    """Reads once what `run` goes on from. `changed` says that it is `found`; where there is nothing, it never comes."""

    changed = Signal()

    def __init__(self, run: RunDirectory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.found: Earlier | None = None
        self._work = Background("earlier", partial(_read, run))
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(_LOOK_MS)

    @property
    def reading(self) -> bool:
        """Whether something may still be found."""
        return self._timer.isActive()

    def close(self) -> None:
        """Read no more."""
        self._timer.stop()
        self._work.cancel()

    def _look(self) -> None:
        # Asked before: what ends after having told all has told it by now.
        alive = self._work.alive
        history = next(self._work.told(), None)
        if history is None and alive:
            return
        self._timer.stop()
        seconds = None if history is None else history.losses.last("time")
        # Steps that took no time, or for ever, have no place on an axis.
        if history is not None and seconds and math.isfinite(seconds):
            self.found = Earlier(history)
            self.changed.emit()


def _read(run: RunDirectory, tell: Tell[History], cancelled: threading.Event) -> None:
    history = History()
    with suppress(OSError):  # what cannot be read of earlier runs is not shown; of the run itself it would be told
        trained = in_training_time(inherited_events(run))
        history.inherit_all(takewhile(lambda _: not cancelled.is_set(), trained))
    tell(history)
