"""Run the actions on the shown run's checkpoints, and report their results."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.common import figures
from gpu_studio.contract.checkpoints import SavedCheckpoint
from gpu_studio.contract.directory import RunDirectory, slug
from gpu_studio.contract.events import Checkpoint
from gpu_studio.runs.reading.history import Level
from gpu_studio.runs.results.evaluations import Evaluation, evaluations, keep
from gpu_studio.ui.train.checkpoint_jobs import CheckpointJobs, Job
from gpu_studio.ui.train.checkpoints_model import CheckpointsModel, in_short
from gpu_studio.ui.train.checkpoints_pane import CheckpointsPane
from gpu_studio.ui.train.live_run import LiveRun

OnceAllowed = Callable[[RunDirectory, Callable[[], object]], object]
"""Does the second once all Python that the plan of the run names is allowed."""
FILTER = "Keras model (*.keras)"


class CheckpointsDesk(QObject):
    """Does what the pane asks for.

    `resuming(run path, checkpoint)` asks to resume; `reported(text, tone)` reports a result. Jobs
    go on when another run is shown; their results are kept beside their own run. `said` fires when
    the log of the run that is shown has a new line. `once_allowed(run, action)` does what may run
    the user's Python, once that is allowed.
    """

    said = Signal()
    resuming = Signal(str, str)
    reported = Signal(str, str)

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
        builds = {"evaluate": self._evaluate, "save": self._choose_file}
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

    def _show_work(self) -> None:
        current, jobs = self.jobs.current, self.jobs.jobs
        more = f", {len(jobs) - 1} more" if len(jobs) > 1 else ""
        self._pane.show_work(
            f"{current.words}: {self.jobs.progress or 'starting'}…{more}" if current else ""
        )
        mine = [job for job in jobs if self._run is not None and job.run == self._run.run]
        self._model.set_busy(
            {job.checkpoint.name: _busy(job, current) for job in mine if job.file is None}
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
