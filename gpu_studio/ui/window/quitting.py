"""Close the window while something is under way: live runs, or work on checkpoints.

About the runs it is asked once, unless that was settled before. Work on checkpoints ends with the
window, so about that it is always asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from PySide6.QtGui import QGuiApplication

from gpu_studio.contract import RunDirectory
from gpu_studio.runs.state import live_runs
from gpu_studio.ui.kit.settings import QUIT
from gpu_studio.ui.window.queue_control import QueueControl
from gpu_studio.ui.window.services import Pages, Services

if TYPE_CHECKING:
    from gpu_studio.ui.kit import Dialog
    from gpu_studio.ui.train.checkpoints_desk import CheckpointJobs
    from gpu_studio.ui.window.quit_dialogs import QuitQuestion

ASK, LEAVE = "ask", "leave"
UNASKED = "gpuStudioClosesUnasked"
"""A property of the application.

Whoever ends the session, or the process by a signal, can answer no question.
"""


class Quitting(QObject):
    """Decides whether the window may close.

    What is asked, and what stops the runs, are dialogs of the window.
    """

    def __init__(self, services: Services, pages: Pages, queue: QueueControl) -> None:
        super().__init__(services.window)
        self._services, self._pages, self._queue = services, pages, queue
        self._window, self._runs_dir = services.window, services.runs_dir
        self._settled = self._gives_up = False
        self.dialog: Dialog | None = None

    def may_close(self) -> bool:
        """Whether nothing is in the way.

        If something is, it is asked about, and the window closes by the answer.
        """
        if self._settled or is_unasked():
            return True
        if self.dialog is not None:
            self.dialog.raise_()
            return False
        jobs = self._pages.checkpoint_jobs
        if jobs is not None and jobs.jobs and not self._gives_up:
            self._ask_about(jobs)
            return False
        if not self.asks:
            return True
        live = live_runs(self._runs_dir)
        if live:
            self._ask(live)
        return not live

    @property
    def asks(self) -> bool:
        """Whether closing over live runs asks first."""
        return self._services.settings.get(QUIT) != LEAVE

    def set_asks(self, asks: bool) -> None:
        """Ask from now on, or leave runs running unasked; remembered."""
        self._services.settings.set(QUIT, ASK if asks else LEAVE)
        self._services.actions["ask_quit"].setChecked(asks)

    def _ask_about(self, jobs: CheckpointJobs) -> None:
        from gpu_studio.ui.kit import Question
        from gpu_studio.ui.train.checkpoints_desk import FINISH, GIVE_UP, words

        answers = {FINISH: lambda: self._finish(jobs), GIVE_UP: self._give_up}
        self._show(Question(*words(jobs.jobs), answers, self._window))

    def _finish(self, jobs: CheckpointJobs) -> None:
        from gpu_studio.ui.train.checkpoints_desk import FinishingDialog

        if not jobs.jobs:
            self._window.close()
            return
        dialog = FinishingDialog(jobs, self._window)
        for signal, action in (
            (dialog.done_with, self._window.close),
            (dialog.left, self._give_up),
        ):
            signal.connect(dialog.close)
            signal.connect(action)
        self._show(dialog)

    def _give_up(self) -> None:
        """Close over the work on checkpoints, unless what is asked next keeps the window open."""
        self._gives_up = True
        self._window.close()

    def _ask(self, live: list[RunDirectory]) -> None:
        from gpu_studio.ui.window.quit_dialogs import QuitQuestion

        def leave() -> None:
            if dialog.never_again:
                self.set_asks(False)
            self._close()

        dialog: QuitQuestion = QuitQuestion(
            live, self._queue.startable, {"Leave running": leave, "Stop": self._stop}, self._window
        )
        self._show(dialog)

    def _stop(self) -> None:
        from gpu_studio.ui.window.quit_dialogs import StoppingDialog

        # Asked again what lives: a run may have ended, or begun, while the question stood there.
        dialog = StoppingDialog(live_runs(self._runs_dir), self._window)
        dialog.done_with.connect(self._close)
        self._show(dialog)
        dialog.begin()

    def _show(self, dialog: Dialog) -> None:
        self.dialog = dialog
        dialog.finished.connect(lambda: self._forget(dialog))
        dialog.show()

    def _forget(self, gone: Dialog) -> None:
        if self.dialog is gone:
            self.dialog, self._gives_up = None, False

    def _close(self) -> None:
        self._settled = True
        self._window.close()


def is_unasked() -> bool:
    """Whether nobody is there to answer: the session ends, or the process was asked to end."""
    application = QCoreApplication.instance()
    ends = isinstance(application, QGuiApplication) and application.isSavingSession()
    return ends or bool(application and application.property(UNASKED))


def close_unasked() -> None:
    """Close all windows without a question, as at the end of the session."""
    from PySide6.QtWidgets import QApplication

    application = QCoreApplication.instance()
    if application is not None:
        application.setProperty(UNASKED, True)
    QApplication.closeAllWindows()
    if application is not None:
        # Where the event loop has not begun yet, it would never hear that the last window has gone.
        QTimer.singleShot(0, application, QCoreApplication.quit)
