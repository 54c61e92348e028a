"""The timeline of the placement that is shown: at once, or from another thread where it would hold up the window."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from gpu_studio.placement.schedule import Timeline
from gpu_studio.ui.models.plan.lanes.forecast import Forecast
from gpu_studio.ui.models.plan.lanes.worker import Worker

MOST_TASKS_AT_ONCE = 800
"""About 15 ms; a model of 300 layers that changes devices at each takes half a second with 32 micro-batches."""


class StepMaker(QObject):
    """`made(Forecast, Timeline)` fires for the last forecast that was asked for; `waiting` while it takes its time."""

    made = Signal(object, object)
    waiting = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._worker = Worker("predicting", self)
        self._asked: Forecast | None = None
        self._worker.done.connect(self._take)

    def make(self, found: Forecast | None) -> None:
        """Predict this step; None forgets what was asked for."""
        self._asked = found
        if found is None:
            self._worker.forget()
        elif found.tasks <= MOST_TASKS_AT_ONCE:
            self._worker.forget()
            self.made.emit(found, found.timeline())
        else:
            self.waiting.emit()
            self._worker.start(found.timeline)

    def close(self) -> None:
        """Leave no thread behind."""
        self._worker.close()

    def _take(self, result: object) -> None:
        if isinstance(result, Exception):
            raise result
        if isinstance(result, Timeline) and self._asked is not None:
            self.made.emit(self._asked, result)
