"""What is asked of checkpoints, one after the other: to be evaluated, or saved as a `.keras` file."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.plan import PlanError
from gpu_studio.runs.checkpoints import SavedCheckpoint
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.questions import checkpoint_question as questions
from gpu_studio.runs.questions.ask import AskCancelledError, AskError
from gpu_studio.runs.questions.checkpoint_question import Asking, CheckpointError
from gpu_studio.runs.results.evaluations import Evaluation
from gpu_studio.ui.models.background import Background

LOOK_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Job:
    """A checkpoint of a run to be evaluated; with a `file`, its model to be saved there, replacing what is there."""

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


Told = str | Evaluation | int | Refused | None


class CheckpointJobs(QObject):
    """A queue that works by itself, whatever run is shown. Of equal jobs one is enough.

    `changed` fires when a job comes, goes or gets further. `evaluated(Job, Evaluation)`, `saved(Job, int)` with the
    size in bytes, and `refused(Job, str)` bring what came of each. `command` is asked instead of the trainer's.
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
        self._work: Background[Told] | None = None
        self._looking = QTimer(self)
        self._looking.setInterval(LOOK_MS)
        self._looking.timeout.connect(self._look)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The one at work, then those that wait."""
        return (*([self.current] if self.current else []), *self._waiting)

    def add(self, job: Job) -> None:
        """Do this job after those that are there."""
        if job not in self.jobs:
            self._waiting.append(job)
            self._next()
            self.changed.emit()

    def cancel(self) -> None:
        """Give up all jobs."""
        self._waiting.clear()
        if self._work is not None:
            self._work.cancel()
        self.changed.emit()

    def close(self) -> None:
        """Give up all jobs, and leave no process and no thread behind."""
        self.blockSignals(True)
        self._looking.stop()
        self.cancel()
        if self._work is not None:
            self._work.wait()
        self.current, self._work = None, None
        self.blockSignals(False)

    def _next(self) -> None:
        if self._work is not None or not self._waiting:
            return
        self.current = job = self._waiting.popleft()
        self.progress = ""
        self._work = Background("checkpoint", _worker(job, self.command))
        self._looking.start()

    def _look(self) -> None:
        told = list(self._work.told()) if self._work else []
        for each in told:
            self._take(each)
        if told:
            self.changed.emit()

    def _take(self, told: Told) -> None:
        if isinstance(told, str):
            self.progress = told
            return
        job, self.current, self._work = self.current, None, None
        self._looking.stop()
        match told:
            case Evaluation():
                self.evaluated.emit(job, told)
            case Refused(why):
                self.refused.emit(job, why)
            case int():
                self.saved.emit(job, told)
        self._next()


def _worker(job: Job, command: Sequence[str] | None) -> Callable[[Callable[[Told], None], threading.Event], None]:
    def work(tell: Callable[[Told], None], cancelled: threading.Event) -> None:
        try:
            tell(_done(job, Asking(command, tell, cancelled)))
        except AskCancelledError:
            tell(None)
        except (CheckpointError, AskError, PlanError) as error:
            tell(Refused(str(error)))
        except OSError as error:
            tell(Refused(f"{error.strerror or error}. Look whether there is room, and whether the run is still there."))

    return work


def _done(job: Job, asking: Asking) -> Evaluation | int:
    if job.file is not None:
        return questions.save_model(job.run, job.checkpoint, job.file, asking, replace=True)
    return questions.evaluate(job.run, job.checkpoint, asking)
