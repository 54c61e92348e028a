"""The desktop is told when a run has ended, unless the person is looking at it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer

from gpu_studio.plan import PlanError, load
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.end_told import claim_telling
from gpu_studio.runs.events import Failed, Finished
from gpu_studio.runs.state import terminal_event
from gpu_studio.ui.models.runs.ends_watch import EndsWatch
from gpu_studio.ui.settings import NOTIFY
from gpu_studio.ui.units import duration

if TYPE_CHECKING:
    from gpu_studio.ui.desktop.notifier import Notifier
    from gpu_studio.ui.main_window import MainWindow

YES, NO = "yes", "no"
LONGEST = 240
MOST_METRICS = 2
GRACE_MS = 1500
"""So long a window waits for another in which the person may be looking at the run: longer than from look to look."""


class RunEnds(QObject):
    """Follows the ends of all runs of the folder; a click on what the desktop shows brings the window and the run.

    Of several windows one tells of an end, and none if the person is looking at the run in any of them.
    """

    def __init__(self, window: MainWindow, runs: Path) -> None:
        super().__init__(window)
        self._window = window
        self._runs = runs
        self.watch = EndsWatch(runs, self)
        self._notifier: Notifier | None = None
        self.watch.ended.connect(self._tell)

    @property
    def notifier(self) -> Notifier:
        """What tells the desktop, made when it is first needed: the window's start waits for this module."""
        if self._notifier is None:
            from gpu_studio.ui.desktop.notifier import Notifier

            self._notifier = Notifier(self._window.windowIcon(), self)
            self._notifier.activated.connect(self._show)
        return self._notifier

    @property
    def notifies(self) -> bool:
        """Whether the desktop is told."""
        return self._window.settings.get(NOTIFY) != NO

    def set_notifies(self, notifies: bool) -> None:
        """Tell the desktop from now on, or not; remembered."""
        self._window.settings.set(NOTIFY, YES if notifies else NO)
        self._window.actions_["notify"].setChecked(notifies)

    def close(self) -> None:
        """Follow nothing any more."""
        self.watch.close()
        if self._notifier is not None:
            self._notifier.close()

    def _tell(self, run: RunDirectory) -> None:
        if self.notifies and self._is_seen(run):
            claim_telling(run)
        elif self.notifies:
            QTimer.singleShot(GRACE_MS, self, lambda: self._tell_unless_told(run))

    def _tell_unless_told(self, run: RunDirectory) -> None:
        if self.notifies and run.exists() and claim_telling(run):
            self.notifier.show(*in_words(run), run.id)

    def _is_seen(self, run: RunDirectory) -> bool:
        window, shown = self._window, self._window.shown_run
        return window.isActiveWindow() and window.page == "train" and shown is not None and shown.run == run

    def _show(self, run: str) -> None:
        window = self._window
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()
        if RunDirectory(self._runs / run).exists():
            window.show_run(RunDirectory(self._runs / run))


def in_words(run: RunDirectory) -> tuple[str, str]:
    """A title and a line of how `run` ended."""
    name, end = _name(run), terminal_event(run)
    if isinstance(end, Finished):
        figures = [f"{_plain(key)} {value:.4g}" for key, value in end.metrics.items() if value is not None]
        words = [f"after {duration(end.seconds)}", f"epoch {end.epoch}", *figures[:MOST_METRICS]]
        return f"{name} {'was stopped' if end.reason.startswith('stopped') else 'has finished'}", " · ".join(words)
    if isinstance(end, Failed):
        return f"{name} has failed", end.message[:LONGEST]
    return f"{name} was lost", "Its trainer is gone without a last word. The Train page says what is known."


def _plain(metric: str) -> str:
    return metric.replace("sparse_categorical_", "").replace("_", " ")


def _name(run: RunDirectory) -> str:
    try:
        return load(run.plan_file).name
    except PlanError:
        return run.id
