"""Notify the desktop when a run has ended, unless the user is looking at it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer

from gpu_studio.contract import lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.end_reports import is_reported, mark_reported, take_telling, unreported
from gpu_studio.ui.kit.settings import NOTIFY
from gpu_studio.ui.window.pages import Pages
from gpu_studio.ui.window.services import Services

if TYPE_CHECKING:
    from gpu_studio.ui.window.desktop.notifier import Notifier

YES, NO = "yes", "no"
GRACE_MS = 1500
"""So long a window waits for another in which the person may be looking at the run.

Longer than from look to look.
"""
ANSWER_MS = 10_000
"""A desktop that has not answered by then may have shown the notification or not.

Another window may tell.
"""
RETRY_MS = 500
SEVERAL = ""
"""The key of a notification about more than one run."""


class RunEnds(QObject):
    """Follows the ends of all runs of the folder.

    A click on what the desktop shows brings the window and the run.

    Of several windows one tells of an end, and none if the person is looking at the run in any of
    them. What no window came to tell, because there was none or it was killed, is told by the next
    one that is opened.
    """

    def __init__(self, services: Services, pages: Pages) -> None:
        super().__init__(services.window)
        self._services, self._pages = services, pages
        self._window, self._runs = services.window, services.runs_dir
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
        self._unanswered.timeout.connect(lambda: self._end_reporting(self._key, reported=False))
        self._following = services.live_watch.ended.connect(lambda run: self._await_others([run]))

    @property
    def notifier(self) -> Notifier:
        """What tells the desktop, made when it is first needed.

        The window's start waits for this module.
        """
        if self._notifier is None:
            from gpu_studio.ui.window.desktop.notifier import Notifier

            self.use(Notifier(self._window.windowIcon(), self))
        assert self._notifier is not None
        return self._notifier

    def use(self, notifier: Notifier) -> None:
        """Tell the desktop by this one."""
        self._notifier = notifier
        notifier.activated.connect(self.bring_up)
        notifier.taken.connect(lambda key: self._end_reporting(key, reported=True))
        notifier.missed.connect(lambda key: self._end_reporting(key, reported=False))

    @property
    def notifies(self) -> bool:
        """Whether the desktop is told."""
        return self._services.settings.get(NOTIFY) != NO

    def set_notifies(self, notifies: bool) -> None:
        """Tell the desktop from now on, or not; remembered."""
        self._services.settings.set(NOTIFY, YES if notifies else NO)
        self._services.actions["notify"].setChecked(notifies)

    def bring_up(self, run: str) -> None:
        """Bring the window up, and in it the run of this id; for `SEVERAL` the list of all runs."""
        window = self._window
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()
        if run == SEVERAL:
            self._pages.turn_to("runs")
        elif RunDirectory(self._runs / run).exists():
            self._pages.show_run(RunDirectory(self._runs / run))

    @property
    def waits(self) -> bool:
        """Whether another window is telling just now, so that this one has to wait."""
        return self._again.isActive()

    def begin(self) -> None:
        """Follow what is alive, and tell of what ended while nobody could.

        All that in one notification.
        """
        self._services.live_watch.look()
        self._await_others(unreported(self._runs))

    def close(self) -> None:
        """Follow nothing any more. What is not told yet is left to another window."""
        QObject.disconnect(self._following)
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
        """Tell of what is due, if no other window is telling.

        That one may be telling of the same.
        """
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
        self._telling = [
            run
            for run in self._due
            if run.exists() and not is_reported(run) and self._is_wanted(run)
        ]
        self._due.clear()
        if self._telling:
            self._send()
        else:
            self._let_go()

    def _send(self) -> None:
        # Imported when it is first needed: the window's start waits for this module.
        from gpu_studio.ui.runs.end_words import all_in_words

        self._key = self._telling[0].id if len(self._telling) == 1 else SEVERAL
        self._unanswered.start()
        self.notifier.show(*all_in_words(self._telling), self._key)

    def _end_reporting(self, key: str, *, reported: bool) -> None:
        """Go on after the desktop's answer.

        One about an earlier notification comes too late to count.
        """
        if key == self._key:
            for run in self._telling if reported else ():
                mark_reported(run)
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
            mark_reported(run)
        return wanted

    def _is_seen(self, run: RunDirectory) -> bool:
        shown, on_train_page = self._pages.shown_run, self._pages.current == "train"
        return (
            self._window.isActiveWindow()
            and on_train_page
            and shown is not None
            and shown.run == run
        )
