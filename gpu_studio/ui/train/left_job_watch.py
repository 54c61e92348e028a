"""The job of Slurm that the lost run on the page has left behind, asked for in the background."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QWidget

from gpu_studio.contract import RunDirectory
from gpu_studio.runs.left_job import ASK_AGAIN_S, LeftJob, left_job
from gpu_studio.ui.kit import BackgroundTask

_AGAIN_MS: Final = int(1000 * ASK_AGAIN_S)


class LeftJobWatch(QWidget):
    """Nothing to see. `changed` says that there is another `left` than before: None once it ended.

    It is asked for again for as long as the page is looked at and there is one.
    """

    changed = Signal()

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self.setVisible(False)
        self._run: RunDirectory | None = None
        self.left: LeftJob | None = None
        self._task = BackgroundTask("left job", self)
        self._task.done.connect(self._take)
        self._timer = QTimer(self)
        self._timer.setInterval(_AGAIN_MS)
        self._timer.timeout.connect(self._ask)

    @property
    def asking(self) -> bool:
        """Whether it is asked for, now and then."""
        return self._timer.isActive()

    def watch(self, run: RunDirectory) -> None:
        """Ask about this run, which is lost."""
        self.rest()
        self._run = run
        self._timer.start()
        self._ask()

    def rest(self) -> None:
        """Ask no more."""
        self._timer.stop()
        self._task.forget()
        self._run = self.left = None

    def close_task(self) -> None:
        """Leave no thread behind; one that Slurm keeps waiting ends by itself."""
        self.rest()
        self._task.close(wait=False)

    def _ask(self) -> None:
        page = self.parentWidget()
        if self._run is not None and not self._task.busy and page is not None and page.isVisible():
            self._task.start(partial(left_job, self._run))

    def _take(self, found: LeftJob | None) -> None:
        if found is None:
            self._timer.stop()
        if found != self.left:
            self.left = found
            self.changed.emit()
