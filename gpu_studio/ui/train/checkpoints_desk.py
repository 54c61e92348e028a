"""Work on the shown run's checkpoints: the desk that runs the actions, and its queue of jobs.

Each job evaluates a checkpoint, predicts some samples with it, or saves it as a `.keras` file. If
the user closes the window meanwhile, a dialog shows the progress until the work is done.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped
from gpu_studio.contract import Checkpoint, RunDirectory, SavedCheckpoint, slug
from gpu_studio.contract.predictions import Predictions
from gpu_studio.plan import PlanError
from gpu_studio.runs.questions import checkpoint_question as questions
from gpu_studio.runs.questions.ask import AskCancelledError, AskError
from gpu_studio.runs.questions.checkpoint_question import AskOptions, CheckpointError
from gpu_studio.runs.reading.log_lines import Level
from gpu_studio.runs.results.evaluations import Evaluation, evaluations, keep
from gpu_studio.ui.kit import BackgroundTask, Button, Dialog, Paragraph, Report, sentence
from gpu_studio.ui.train.checkpoints_pane import CheckpointsModel, CheckpointsPane, in_short
from gpu_studio.ui.train.live_run import LiveRun

OnceAllowed = Callable[[RunDirectory, Callable[[], object]], object]
"""Does the second once all Python that the plan of the run names is allowed."""
FILTER = "Keras model (*.keras)"


class CheckpointsDesk(QObject):
    """Does what the pane asks for.

    `resuming(run path, checkpoint)` asks to resume; `reported(text, tone)` reports a result. Jobs
    go on when another run is shown; their results are kept beside their own run. `said` fires when
    the log of the run that is shown has a new line, and `predicted(Predictions)` when it has some
    predictions. `once_allowed(run, action)` does what may run the user's Python, once that is
    allowed.
    """

    said = Signal()
    resuming = Signal(str, str)
    reported = Signal(str, str)
    predicted = Signal(object)

    def __init__(self, pane: CheckpointsPane, model: CheckpointsModel, window: QWidget) -> None:
        super().__init__(window)
        self._pane, self._model, self._window = pane, model, window
        self._run: LiveRun | None = None
        self.once_allowed: OnceAllowed = lambda _run, action: action()
        self.jobs = CheckpointJobs(self)
        pane.wanted.connect(self._do)
        pane.cancelled.connect(self.jobs.cancel)
        self.jobs.changed.connect(self._show_work)
        self.jobs.evaluated.connect(self._take_evaluation)
        self.jobs.saved.connect(self._take_saved)
        self.jobs.predicted.connect(self._take_predictions)
        self.jobs.refused.connect(self._take_refused)

    def restart(self, run: LiveRun) -> None:
        """Switch to another run."""
        self._run = run
        self._model.set_evaluations(evaluations(run.run))
        self._show_work()

    def close(self) -> None:
        """Cancel everything that is under way."""
        self.jobs.close()

    # Requests

    def _do(self, name: str) -> None:
        builds = {
            "evaluate": self._evaluate,
            "predict": self._predict,
            "save": self._choose_file,
        }
        if name in builds and self._run is not None:
            self.once_allowed(self._run.run, builds[name])
        elif name not in builds:
            {"resume": self._resume, "reveal": self._reveal}[name]()

    def _resume(self) -> None:
        if self._run is not None:
            self.resuming.emit(str(self._run.run.path), self._pane.selected[0].name)

    def _evaluate(self) -> None:
        for job in self._jobs_of():
            self.jobs.add(job)

    def _predict(self) -> None:
        for job in self._jobs_of():
            self.jobs.add(replace(job, predicts=True))

    def _choose_file(self) -> None:
        if self._run is None or not self._pane.selected:
            return
        dialog = QFileDialog(self._window, "Save as .keras", str(Path.home()), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("keras")
        dialog.selectFile(f"{slug(self._run.history.plan)}-{self._pane.selected[0].name}.keras")
        dialog.setAccessibleName(dialog.windowTitle())
        # The selection may have changed by then: the newest checkpoint is inserted at the top.
        chosen = self._jobs_of(Path())
        dialog.fileSelected.connect(lambda name: self._save(chosen, Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _save(self, chosen: list[Job], path: Path) -> None:
        for job in chosen:
            self.jobs.add(Job(job.run, job.checkpoint, path))

    def _reveal(self) -> None:
        if self._run is None:
            return
        path = self._run.run.checkpoints / self._pane.selected[0].name
        if not path.is_dir():
            self.reported.emit(
                f"{path.name} is no longer there: the run keeps its newest "
                "checkpoints and the best.",
                "bad",
            )
        elif not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self.reported.emit(
                f"No file manager answers here. The checkpoint is in {path}", "warning"
            )

    def _jobs_of(self, file: Path | None = None) -> list[Job]:
        run = self._run.run if self._run else None
        return (
            [Job(run, _saved(run.checkpoints, one), file) for one in self._pane.selected]
            if run
            else []
        )

    # Results

    @property
    def work(self) -> str:
        """What is under way, in words; empty if nothing is."""
        current, jobs = self.jobs.current, self.jobs.jobs
        more = f", {len(jobs) - 1} more" if len(jobs) > 1 else ""
        return f"{current.words}: {self.jobs.progress or 'starting'}…{more}" if current else ""

    def _show_work(self) -> None:
        current, jobs = self.jobs.current, self.jobs.jobs
        self._pane.show_work(self.work)
        mine = [job for job in jobs if self._run is not None and job.run == self._run.run]
        self._model.set_busy(
            {job.checkpoint.name: _busy(job, current) for job in mine if job.evaluates}
        )

    def _take_evaluation(self, job: Job, found: Evaluation) -> None:
        self._say(job, "info", f"{found.checkpoint} evaluated: {in_short(found)}")
        if self._run is not None and job.run == self._run.run:
            self._model.add_evaluation(found)
        try:
            keep(job.run, found)
        except OSError as error:
            self._say(
                job,
                "warning",
                f"The result could not be kept beside the run: {error.strerror or error}.",
            )

    def _take_predictions(self, job: Job, found: Predictions) -> None:
        if self._run is not None and job.run == self._run.run:
            self.predicted.emit(found)

    def _take_saved(self, job: Job, size: int) -> None:
        text = f"The model of {job.checkpoint.name} is in {job.file} ({figures.size(size)})."
        self._say(job, "info", text)
        self.reported.emit(text, "plain")

    def _take_refused(self, job: Job, why: str) -> None:
        text = f"{job.words.capitalize()} came to nothing: {why}"
        self._say(job, "error", text)
        self.reported.emit(text, "bad")

    def _say(self, job: Job, level: Level, text: str) -> None:
        if self._run is not None and job.run == self._run.run:
            self._run.log.say(time.time(), level, text)
            self.said.emit()


def _saved(folder: Path, reported: Checkpoint) -> SavedCheckpoint:
    return SavedCheckpoint(folder / reported.name, reported.epoch, reported.step, reported.best)


def _busy(job: Job, current: Job | None) -> str:
    return "evaluating…" if job == current else "waiting to be evaluated"


@dataclass(frozen=True, slots=True)
class Job:
    """A checkpoint of a run to be evaluated.

    With a `file`, its model to be saved there, replacing what is there; or one that `predicts`.
    """

    run: RunDirectory
    checkpoint: SavedCheckpoint
    file: Path | None = None
    predicts: bool = False

    @property
    def evaluates(self) -> bool:
        """Whether nothing else is done."""
        return self.file is None and not self.predicts

    @property
    def words(self) -> str:
        """What is done: `evaluating step-00000012`."""
        done = "saving" if self.file else "predicting with" if self.predicts else "evaluating"
        return f"{done} {self.checkpoint.name}"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a job came to nothing, in words."""

    why: str


Outcome = Evaluation | Predictions | int | Refused | None


class CheckpointJobs(QObject):
    """A queue that runs independently of the run shown. Equal jobs are queued once.

    `changed` fires when a job comes, goes or progresses. `evaluated(Job, Evaluation)`,
    `predicted(Job, Predictions)`, `saved(Job, int)` with the size in bytes, and `refused(Job, str)`
    report the results. `command` is asked
    instead of the trainer's.
    """

    changed = Signal()
    evaluated = Signal(object, object)
    predicted = Signal(object, object)
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
            case Predictions():
                self.predicted.emit(job, outcome)
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
        ask = questions.predict if job.predicts else questions.evaluate
        return ask(job.run, job.checkpoint, asking)
    except AskCancelledError:
        return None
    except (CheckpointError, AskError, PlanError) as error:
        return Refused(str(error))
    except OSError as error:
        return Refused(
            f"{error.strerror or error}. Check whether there is free space, and "
            "whether the run is still there."
        )


FINISH, GIVE_UP = "Finish first", "Give up"
_DIALOG_WIDTH = 440


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
        self.fit(_DIALOG_WIDTH)

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
