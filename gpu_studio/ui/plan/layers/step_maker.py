"""Compute the timeline of the placement that is shown.

It is computed at once, or in another thread if it would block the window.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from gpu_studio.placement.schedule import StepTimeline
from gpu_studio.ui.kit.task import BackgroundTask
from gpu_studio.ui.plan.layers.forecast import Forecast

MOST_TASKS_AT_ONCE = 800
"""About 15 ms.

A model of 300 layers that changes devices at each takes half a second with 32 micro-batches.
"""


class StepMaker(QObject):
    """`made(Forecast, Timeline)` fires for the last requested forecast.

    `waiting` fires while it takes long.
    """

    made = Signal(object, object)
    waiting = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._task = BackgroundTask("predicting", self)
        self._asked: Forecast | None = None
        self._task.done.connect(self._take)

    def make(self, found: Forecast | None) -> None:
        """Predict this step; None drops the request."""
        self._asked = found
        if found is None:
            self._task.forget()
        elif found.tasks <= MOST_TASKS_AT_ONCE:
            self._task.forget()
            self.made.emit(found, found.timeline())
        else:
            self.waiting.emit()
            self._task.start(found.timeline)

    def close(self) -> None:
        """Stop the thread."""
        self._task.close()

    def _take(self, result: StepTimeline) -> None:
        if self._asked is not None:
            self.made.emit(self._asked, result)
