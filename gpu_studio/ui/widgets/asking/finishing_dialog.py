"""What is asked when the window closes over work on checkpoints, and what is shown while that is finished."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpu_studio.ui.models.train.checkpoint_jobs import CheckpointJobs, Job
from gpu_studio.ui.units import number, sentence
from gpu_studio.ui.widgets.asking.dialogs import Dialog
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph

FINISH, GIVE_UP = "Finish first", "Give up"
WIDTH = 440


class FinishingDialog(Dialog):
    """Shows how far the jobs are. `done_with` fires when all are done, `left` when a person will not wait.

    Where one of them comes to nothing it goes, so that why can be read in the window.
    """

    done_with = Signal()
    left = Signal()

    def __init__(self, jobs: CheckpointJobs, parent: QWidget) -> None:
        super().__init__("Finishing before the window closes", parent)
        self.setModal(True)
        self._jobs = jobs
        self.line = Paragraph()
        self.column.addWidget(self.line)
        self.leave = Button(GIVE_UP)
        self.leave.setToolTip("Close the window now, and leave this undone")
        self.leave.clicked.connect(self.left)
        # Return must not give up what a person has just chosen to wait for.
        self.add_buttons(self.leave, last="Keep the window open").setFocus()
        jobs.changed.connect(self._look)
        jobs.refused.connect(self.reject)
        self.finished.connect(self._rest)
        self._look()
        self.fit(WIDTH)

    def _rest(self) -> None:
        """Follow the jobs no more: what comes of them closes no window."""
        self._jobs.changed.disconnect(self._look)

    def _look(self) -> None:
        if self._jobs.current is None:
            self.done_with.emit()
            return
        more = len(self._jobs.jobs) - 1
        waiting = f", and {number(more)} more after it" if more else ""
        self.line.setText(sentence(f"{self._jobs.current.words}: {self._jobs.progress or 'starting'}{waiting}"))


def words(jobs: Sequence[Job]) -> tuple[str, str]:
    """What is asked about jobs that are under way: a title, and what either answer means."""
    saves, it = any(job.file for job in jobs), "it" if len(jobs) == 1 else "them"
    title = f"{number(len(jobs))} checkpoints are still being worked on"
    if len(jobs) == 1:
        title = f"A checkpoint is still being {'saved' if saves else 'evaluated'}"
    lost = "no file is written" if saves else "the results are not kept"
    text = (
        f"Finish {it} first, and the window closes by itself. Give {it} up, and {lost}; "
        "the run and its checkpoints stay as they are."
    )
    return title, text
