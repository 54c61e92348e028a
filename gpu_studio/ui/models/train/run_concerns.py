"""What a person should see to in the run that is shown, looked at once a second for as long as it lives."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.runs.events import Warned
from gpu_studio.runs.failures.full_disk import has_no_room
from gpu_studio.runs.warnings import Concern, concerns_of
from gpu_studio.runs.warnings_cards import CardWatch
from gpu_studio.ui.models.train.live_run import LiveRun

LOOK_MS: Final = 1000


class RunConcerns(QObject):
    """`concerns` are those that hold and that nobody has dismissed, the gravest first. `changed` says they are others.

    What begins and what is over stands in the run's log; what begins is also a mark on the time axis. One that was
    dismissed comes back only after it was over.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None, clock: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self.concerns: tuple[Concern, ...] = ()
        self._clock = clock
        self._run: LiveRun | None = None
        self._cards: CardWatch | None = None
        self._standing: tuple[Concern, ...] = ()
        self._dismissed: set[tuple[str, float]] = set()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)

    @property
    def words(self) -> str:
        """The gravest, in a few words for the window's foot; empty if there is none."""
        if not self.concerns:
            return ""
        more = f" and {len(self.concerns) - 1} more" if len(self.concerns) > 1 else ""
        return f"⚠ {self.concerns[0].text.rstrip('.')}{more}"

    def follow(self, run: LiveRun | None) -> None:
        """Look after this run, and no other."""
        self._run, self._cards = run, CardWatch(run.run.hardware_file) if run else None
        self._standing = ()
        self._dismissed.clear()
        self._show()
        if run is None:
            self._timer.stop()
        else:
            self._timer.start()

    def look(self) -> None:
        """Look now."""
        run = self._run
        if run is None or self._cards is None or run.reading:
            return
        if run.live:
            self._cards.read()
        else:
            self._timer.stop()
        now = self._clock()
        cards = self._cards.sights(run.history.devices, now)
        before, full = self._standing, run.live and has_no_room(run.run.path)
        moment = run.history.time_of(now)
        self._standing = concerns_of(run.history, cards, now=moment, before=before, disk_full=full)
        self._tell(run, before)
        self._show()

    def dismiss(self, concern: Concern) -> None:
        """Show this no more for as long as it holds."""
        self._dismissed.add((concern.key, concern.since))
        self._show()

    def _tell(self, run: LiveRun, before: tuple[Concern, ...]) -> None:
        """Tell the log what is new and what is over."""
        known, standing = ({each.key for each in some} for some in (before, self._standing))
        new = [each for each in self._standing if each.key not in known]
        for concern in new:
            if not concern.told:
                _tell_begun(run, concern)
        for concern in before:
            if concern.key not in standing and not concern.told and run.live:
                run.log.say(self._clock(), "info", f"over: {concern.text}")

    def _show(self) -> None:
        shown = tuple(each for each in self._standing if (each.key, each.since) not in self._dismissed)
        if shown != self.concerns:
            self.concerns = shown
            self.changed.emit()


def _tell_begun(run: LiveRun, concern: Concern) -> None:
    run.log.say(concern.since, concern.level, concern.said)
    # Without a number, because no trainer told it.
    run.history.warnings.append(Warned(time=concern.since, message=concern.text, suggestion=concern.suggestion))
