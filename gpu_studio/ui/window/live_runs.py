"""The runs that are alive in the window, and what tells of their ends.

Each live run is visible, one click away, and announced when it begins. When it has ended the
desktop is notified, unless the user is looking at the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer

from gpu_studio.contract import RunDirectory, lock
from gpu_studio.runs.end_reports import is_reported, mark_reported, take_telling, unreported
from gpu_studio.runs.labels import number_of, read_labels, title_of
from gpu_studio.ui.kit import LiveButton
from gpu_studio.ui.kit.settings import NOTIFY
from gpu_studio.ui.window.arrivals import bring_up
from gpu_studio.ui.window.services import Pages, Services

if TYPE_CHECKING:
    from gpu_studio.ui.window.notifier import Notifier


class LiveRuns(QObject):
    """Keeps the live runs in the status line and beside the title of the Train page.

    A run that somebody else starts, as the queue does, is announced with a button that shows it. It
    is shown where no run is, and in the place of one that has ended and that nobody is looking at.
    Of a study's runs, which follow each other, the first is announced.
    """

    def __init__(self, services: Services, pages: Pages) -> None:
        super().__init__(services.window)
        self._pages, self._watch, self._notice = pages, services.live_watch, services.notice
        self._runs = services.runs_dir
        self._said: dict[str, str] = {}
        self._in_study = False
        self._buttons: list[LiveButton] = []
        watch = self._watch
        watch.changed.connect(self.show)
        watch.began.connect(self._tell_begun)
        watch.ended.connect(self._withdraw)
        self.add_button(services.status_line.live)
        pages.run_shown.connect(self.show)

    def add_button(self, button: LiveButton) -> None:
        """Let this button, too, show the run that is chosen."""
        self._buttons.append(button)
        button.chosen.connect(lambda run: self._pages.show_run(RunDirectory(self._runs / run)))

    def read_names(self) -> None:
        """Call the runs as they are called now."""
        if (shown := self._pages.shown_run) is not None:
            shown.read_name()
        self.show()

    def show(self) -> None:
        """Show which runs are alive, and which of them is shown."""
        shown = self._pages.shown_run
        if shown is not None and self._pages.current == "train":
            self._withdraw(shown.run)
        titles = self._titles()
        for button in self._buttons:
            button.show_runs(titles, shown.run.id if shown is not None else "")

    def _titles(self) -> dict[str, str]:
        """What the live runs are called, by their ids."""
        live = self._watch.live
        if any(number_of(run) is None for run in live):
            # Whoever starts one is about to number it. Imported when it is first needed: it brings
            # numpy.
            from gpu_studio.runs.catalogue import numbered

            numbered(self._runs)
        return {run.id: title_of(run) for run in live}

    def tell_beside(self, other: RunDirectory) -> None:
        """Say that another run trains beside the one that was just started."""
        self._say(other, f"{title_of(other)} is still training too: both runs share this machine.")

    def _tell_begun(self, run: RunDirectory) -> None:
        shown = self._pages.shown_run
        if shown is None or (self._pages.current != "train" and not shown.live):
            self._pages.hold_run(run)
        before, self._in_study = self._in_study, _is_of_study(run)
        if not (before and self._in_study):
            self._say(run, f"{title_of(run)} has started.")

    def _say(self, run: RunDirectory, text: str) -> None:
        self._said[run.id] = text
        self._notice.say(text, label="Show", action=lambda: self._pages.show_run(run))

    def _withdraw(self, run: RunDirectory) -> None:
        """Take back what was said of a run that is shown now, or has ended."""
        text = self._said.pop(run.id, "")
        if text and text == self._notice.text:
            self._notice.hide()


def _is_of_study(run: RunDirectory) -> bool:
    # Imported when it is first needed: it brings numpy.
    from gpu_studio.runs.studies import TAG

    return TAG in read_labels(run).tags


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
    them. What no window came to tell, because there was none or it was killed, the next one that is
    opened tells.
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
            from gpu_studio.ui.window.notifier import Notifier

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
        """Whether the desktop shows a message."""
        return self._services.settings.get(NOTIFY) != NO

    def set_notifies(self, notifies: bool) -> None:
        """Tell the desktop from now on, or not; remembered."""
        self._services.settings.set(NOTIFY, YES if notifies else NO)
        self._services.actions["notify"].setChecked(notifies)

    def bring_up(self, run: str) -> None:
        """Bring the window up, and in it the run of this id; for `SEVERAL` the list of all runs."""
        bring_up(self._window)
        if run == SEVERAL:
            self._pages.turn_to("runs")
        elif RunDirectory(self._runs / run).exists():
            self._pages.show_run(RunDirectory(self._runs / run))

    def tell_of_study(self, title: str, text: str) -> None:
        """Tell the desktop that a study is over, unless the person is at the window."""
        if self.notifies and not self._window.isActiveWindow():
            self.notifier.show(title, text, SEVERAL)

    @property
    def waits(self) -> bool:
        """Whether another window is telling just now, so that this one has to wait."""
        return self._again.isActive()

    def begin(self) -> None:
        """Follow what is alive, and tell in one notification what ended while nobody could."""
        self._services.live_watch.look()
        self._await_others(unreported(self._runs))

    def close(self) -> None:
        """Follow nothing any more. What is not reported yet is left to another window."""
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
        """Whether the desktop is to show a message on `run`; if not, it counts as reported."""
        # A study tells of its end itself: each of a dozen runs is no news.
        wanted = self.notifies and not self._is_seen(run) and not run.study_file.exists()
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
