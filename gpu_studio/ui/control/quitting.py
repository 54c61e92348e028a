"""Closing the window while runs are alive: leave them, or stop them first. Asked once, unless it was settled before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from PySide6.QtGui import QGuiApplication

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.ui.control.run_control import live_runs
from gpu_studio.ui.settings import QUIT

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow
    from gpu_studio.ui.widgets.asking.quit_dialogs import QuitQuestion, StoppingDialog

ASK, LEAVE = "ask", "leave"
UNASKED = "gpuStudioClosesUnasked"
"""A property of the application: whoever ends the session, or the process by a signal, can answer no question."""


class Quitting(QObject):
    """Decides whether the window may close. What is asked, and what stops the runs, are dialogs of the window."""

    def __init__(self, window: MainWindow, runs_dir: Path) -> None:
        super().__init__(window)
        self._window = window
        self._runs_dir = runs_dir
        self._settled = False
        self.dialog: QuitQuestion | StoppingDialog | None = None

    def may_close(self) -> bool:
        """Whether nothing is in the way. If something is, it is asked about, and the window closes by the answer."""
        if self._settled or is_unasked() or not self.asks:
            return True
        if self.dialog is not None:
            self.dialog.raise_()
            return False
        live = live_runs(self._runs_dir)
        if live:
            self._ask(live)
        return not live

    @property
    def asks(self) -> bool:
        """Whether closing over live runs asks first."""
        return self._window.settings.get(QUIT) != LEAVE

    def set_asks(self, asks: bool) -> None:
        """Ask from now on, or leave runs running unasked; remembered."""
        self._window.settings.set(QUIT, ASK if asks else LEAVE)
        self._window.actions_["ask_quit"].setChecked(asks)

    def _ask(self, live: list[RunDirectory]) -> None:
        from gpu_studio.ui.widgets.asking.quit_dialogs import QuitQuestion

        def leave() -> None:
            if dialog.never_again:
                self.set_asks(False)
            self._close()

        dialog: QuitQuestion = QuitQuestion(
            live, self._queued(), {"Leave running": leave, "Stop": self._stop}, self._window
        )
        self._show(dialog)

    def _stop(self) -> None:
        from gpu_studio.ui.widgets.asking.quit_dialogs import StoppingDialog

        # Asked again what lives: a run may have ended, or begun, while the question stood there.
        dialog = StoppingDialog(live_runs(self._runs_dir), self._window)
        dialog.done_with.connect(self._close)
        self._show(dialog)
        dialog.begin()

    def _show(self, dialog: QuitQuestion | StoppingDialog) -> None:
        self.dialog = dialog
        dialog.finished.connect(lambda: self._forget(dialog))
        dialog.show()

    def _forget(self, gone: QuitQuestion | StoppingDialog) -> None:
        if self.dialog is gone:
            self.dialog = None

    def _close(self) -> None:
        self._settled = True
        self._window.close()

    def _queued(self) -> int:
        return len(self._window.queue.queue.startable())


def is_unasked() -> bool:
    """Whether nobody is there to answer: the session ends, or the process was told to."""
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
