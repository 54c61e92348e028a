"""The desktop is told when a run has ended, unless the person is looking at it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer

from gpu_studio.runs import lock
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.end_told import is_told, mark_told, take_telling, untold
from gpu_studio.ui.models.runs.live_watch import LiveWatch
from gpu_studio.ui.settings import NOTIFY

if TYPE_CHECKING:
    from gpu_studio.ui.desktop.notifier import Notifier
    from gpu_studio.ui.main_window import MainWindow

YES, NO = "yes", "no"
GRACE_MS = 1500
"""So long a window waits for another in which the person may be looking at the run: longer than from look to look."""
ANSWER_MS = 10_000
"""A desktop that has not answered by then may have shown the notification or not: another window may tell."""
RETRY_MS = 500
SEVERAL = ""
"""The key of a notification about more than one run."""


class RunEnds(QObject):
    """Follows the ends of all runs of the folder; a click on what the desktop shows brings the window and the run.

    Of several windows one tells of an end, and none if the person is looking at the run in any of them. What no window
    came to tell, because there was none or it was killed, is told by the next one that is opened.
    """

    def __init__(self, window: MainWindow, runs: Path) -> None:
        super().__init__(window)
        self._window = window
        self._runs = runs
        self.watch = LiveWatch(runs, self)
        self._notifier: Notifier | None = None
        self._due: list[RunDirectory] = []
        self._telling: list[RunDirectory] = []
        self._key = SEVERAL
        self._held: lock.Lock | None = None
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(RETRY_MS)
        self._again.timeout.connect(self._try)
        self._unanswered = QTimer(self)
        self._unanswered.setSingleShot(True)
        self._unanswered.setInterval(ANSWER_MS)
        self._unanswered.timeout.connect(lambda: self._end_telling(self._key, told=False))
        self.watch.ended.connect(lambda run: self._await_others([run]))

    @property
    def notifier(self) -> Notifier:
        """What tells the desktop, made when it is first needed: the window's start waits for this module."""
        if self._notifier is None:
            from gpu_studio.ui.desktop.notifier import Notifier

            self.use(Notifier(self._window.windowIcon(), self))
        assert self._notifier is not None
        return self._notifier

    def use(self, notifier: Notifier) -> None:
        """Tell the desktop by this one."""
        self._notifier = notifier
        notifier.activated.connect(self._show)
        notifier.taken.connect(lambda key: self._end_telling(key, told=True))
        notifier.missed.connect(lambda key: self._end_telling(key, told=False))

    @property
    def notifies(self) -> bool:
        """Whether the desktop is told."""
        return self._window.settings.get(NOTIFY) != NO

    def set_notifies(self, notifies: bool) -> None:
        """Tell the desktop from now on, or not; remembered."""
        self._window.settings.set(NOTIFY, YES if notifies else NO)
        self._window.actions_["notify"].setChecked(notifies)

    def begin(self) -> None:
        """Follow what is alive, and tell of what ended while nobody could: all that in one notification."""
        self.watch.look()
        self._await_others(untold(self._runs))

    def close(self) -> None:
        """Follow nothing any more. What is not told yet is left to another window."""
        self.watch.close()
        for timer in self.findChildren(QTimer, options=Qt.FindChildOption.FindDirectChildrenOnly):
            timer.stop()
        self._let_go()
        if self._notifier is not None:
            self._notifier.close()

    def _await_others(self, runs: Iterable[RunDirectory]) -> None:
        """Tell of `runs` after a while, unless they are seen here or in another window."""
        wanted = [run for run in runs if self._is_wanted(run)]
        if wanted:
            timer = QTimer(self)
            timer.setSingleShot(True)
            timer.timeout.connect(lambda: self._tell(wanted))
            timer.timeout.connect(timer.deleteLater)
            timer.start(GRACE_MS)

    def _tell(self, runs: list[RunDirectory]) -> None:
        self._due += runs
        self._try()

    def _try(self) -> None:
        """Tell of what is due, if no other window is telling: that one may be telling of the same."""
        if self._telling or not self._due:
            return
        try:
            self._held = take_telling(self._runs)
        except OSError:
            self._held = None  # a folder that takes no lock: twice is better than never
        else:
            if self._held is None:
                self._again.start()
                return
        self._telling = [run for run in self._due if run.exists() and not is_told(run) and self._is_wanted(run)]
        self._due.clear()
        if self._telling:
            self._send()
        else:
            self._let_go()

    def _send(self) -> None:
        # Imported when it is first needed: the window's start waits for this module.
        from gpu_studio.ui.models.runs.end_words import all_in_words

        self._key = self._telling[0].id if len(self._telling) == 1 else SEVERAL
        self._unanswered.start()
        self.notifier.show(*all_in_words(self._telling), self._key)

    def _end_telling(self, key: str, *, told: bool) -> None:
        """Go on after the desktop's answer; one about an earlier notification comes too late to count."""
        if key == self._key:
            for run in self._telling if told else ():
                mark_told(run)
            self._let_go()
            self._try()

    def _let_go(self) -> None:
        """Be about to tell of nothing."""
        self._unanswered.stop()
        self._telling.clear()
        if self._held is not None:
            self._held.release()
            self._held = None

    def _is_wanted(self, run: RunDirectory) -> bool:
        """Whether the desktop is to be told of `run`; what is not is settled with that."""
        wanted = self.notifies and not self._is_seen(run)
        if not wanted:
            mark_told(run)
        return wanted

    def _is_seen(self, run: RunDirectory) -> bool:
        window, shown = self._window, self._window.shown_run
        return window.isActiveWindow() and window.page == "train" and shown is not None and shown.run == run

    def _show(self, run: str) -> None:
        window = self._window
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()
        if run == SEVERAL:
            window.show_page("runs")
        elif RunDirectory(self._runs / run).exists():
            window.show_run(RunDirectory(self._runs / run))
