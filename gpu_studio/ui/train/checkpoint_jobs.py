"""A queue of jobs on checkpoints.

Each evaluates a checkpoint or saves it as a `.keras` file.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpu_studio.contract.checkpoints import SavedCheckpoint
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import PlanError
from gpu_studio.runs.questions import checkpoint_question as questions
from gpu_studio.runs.questions.ask import AskCancelledError, AskError
from gpu_studio.runs.questions.checkpoint_question import AskOptions, CheckpointError
from gpu_studio.runs.results.evaluations import Evaluation
from gpu_studio.ui.kit.task import BackgroundTask, Report


@dataclass(frozen=True, slots=True)
class Job:
    """A checkpoint of a run to be evaluated.

    With a `file`, its model to be saved there, replacing what is there.
    """

    run: RunDirectory
    checkpoint: SavedCheckpoint
    file: Path | None = None

    @property
    def words(self) -> str:
        """What is done: `evaluating step-00000012`."""
        return f"{'saving' if self.file else 'evaluating'} {self.checkpoint.name}"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a job came to nothing, in words."""

    why: str


Outcome = Evaluation | int | Refused | None


class CheckpointJobs(QObject):
    """A queue that runs independently of the run shown. Equal jobs are queued once.

    `changed` fires when a job comes, goes or progresses. `evaluated(Job, Evaluation)`, `saved(Job,
    int)` with the size in bytes, and `refused(Job, str)` report the results. `command` is asked
    instead of the trainer's.
    """

    changed = Signal()
    evaluated = Signal(object, object)
    saved = Signal(object, object)
    refused = Signal(object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.command: Sequence[str] | None = None
        self.current: Job | None = None
        self.progress = ""
        self._waiting: deque[Job] = deque()
        self._task = BackgroundTask("checkpoint", self)
        self._task.reported.connect(self._show_progress)
        self._task.done.connect(self._take)
        self._task.failed.connect(self._take_failure)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The running job, then the waiting ones."""
        return (*([self.current] if self.current else []), *self._waiting)

    def add(self, job: Job) -> None:
        """Queue this job."""
        if job not in self.jobs:
            self._waiting.append(job)
            self._next()
            self.changed.emit()

    def cancel(self) -> None:
        """Cancel all jobs."""
        self._waiting.clear()
        self._task.cancel()
        self.changed.emit()

    def close(self) -> None:
        """Cancel all jobs, and stop the process and the thread."""
        self.blockSignals(True)
        self.cancel()
        self._task.close()
        self.current = None
        self.blockSignals(False)

    def _next(self) -> None:
        if self._task.busy or not self._waiting:
            return
        self.current = job = self._waiting.popleft()
        self.progress = ""
        self._task.start_work(partial(_done, job, self.command))

    def _show_progress(self, text: str) -> None:
        self.progress = text
        self.changed.emit()

    def _take_failure(self, error: Exception) -> None:
        self._take(Refused(str(error)))

    def _take(self, outcome: Outcome) -> None:
        job, self.current = self.current, None
        match outcome:
            case Evaluation():
                self.evaluated.emit(job, outcome)
            case Refused(why):
                self.refused.emit(job, why)
            case int():
                self.saved.emit(job, outcome)
        self._next()
        self.changed.emit()


def _done(
    job: Job, command: Sequence[str] | None, report: Report, cancelled: threading.Event
) -> Outcome:
    """Run a job and report its progress; return None if it was cancelled."""
    asking = AskOptions(command, report, cancelled)
    try:
        if job.file is not None:
            return questions.save_model(job.run, job.checkpoint, job.file, asking, replace=True)
        return questions.evaluate(job.run, job.checkpoint, asking)
    except AskCancelledError:
        return None
    except (CheckpointError, AskError, PlanError) as error:
        return Refused(str(error))
    except OSError as error:
        return Refused(
            f"{error.strerror or error}. Look whether there is room, and "
            "whether the run is still there."
        )
