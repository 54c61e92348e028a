"""Closing the window during work on checkpoints.

The question, and the progress until it is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpu_studio.common.figures import grouped
from gpu_studio.ui.kit.asking.dialogs import Dialog
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.labels import Paragraph
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.train.checkpoint_jobs import CheckpointJobs, Job

FINISH, GIVE_UP = "Finish first", "Give up"
WIDTH = 440


class FinishingDialog(Dialog):
    """Shows the progress of the jobs.

    `done_with` fires when all are done, `left` when the user will not wait. If a job fails, the
    dialog closes, so that the reason can be read in the window.
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
        # Return must not cancel what the user has just chosen to wait for.
        self.add_buttons(self.leave, last="Keep the window open").setFocus()
        jobs.changed.connect(self._look)
        jobs.refused.connect(self.reject)
        self.finished.connect(self._rest)
        self._look()
        self.fit(WIDTH)

    def _rest(self) -> None:
        """Stop following the jobs: their results no longer close the window."""
        self._jobs.changed.disconnect(self._look)

    def _look(self) -> None:
        if self._jobs.current is None:
            self.done_with.emit()
            return
        more = len(self._jobs.jobs) - 1
        waiting = f", and {grouped(more)} more after it" if more else ""
        self.line.setText(
            sentence(f"{self._jobs.current.words}: {self._jobs.progress or 'starting'}{waiting}")
        )


def words(jobs: Sequence[Job]) -> tuple[str, str]:
    """Return the question about running jobs: a title, and what either answer means."""
    saves, it = any(job.file for job in jobs), "it" if len(jobs) == 1 else "them"
    title = f"{grouped(len(jobs))} checkpoints are still being worked on"
    if len(jobs) == 1:
        title = f"A checkpoint is still being {'saved' if saves else 'evaluated'}"
    lost = "no file is written" if saves else "the results are not kept"
    text = (
        f"Finish {it} first, and the window closes by itself. Give {it} up, and {lost}; "
        "the run and its checkpoints stay as they are."
    )
    return title, text
