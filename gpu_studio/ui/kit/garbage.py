"""Python's garbage is collected in the window's thread, never in one that works beside it.

The collector begins wherever an object is made. What it frees may be Qt's, such as a dialog that a
cycle of references kept: destroyed in another thread its timers cannot be stopped, and a window
waits for ever, or Qt crashes as both threads change what is shown.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, QTimerEvent

EVERY_MS = 1000
"""How often what is old enough is collected while threads work; none of them need report."""


class GarbageWatch:
    """Keeps the collector off while threads work. Its methods are the window's thread's."""

    def __init__(self) -> None:
        self._working: set[threading.Thread] = set()
        self._off = False
        self._clock: _Clock | None = None

    def begins(self, thread: threading.Thread) -> None:
        """A thread is about to start."""
        self.settle()
        self._working.add(thread)
        if gc.isenabled():
            gc.disable()
            self._off = True
            self._begin_clock()

    def goes_on(self) -> None:
        """Collect here, as the collector would have by itself: the oldest whose count is over."""
        counts, limits = gc.get_count(), gc.get_threshold()
        if self._off and counts[0] > limits[0] > 0:
            over = (age for age in (2, 1) if counts[age] > limits[age])
            gc.collect(next(over, 0))

    def keep(self) -> None:
        """Look no more through what is there now, which stays as long as the window does.

        A look at all of it takes the window a twentieth of a second, at any moment, and finds
        little.
        """
        gc.freeze()

    def keep_no_more(self) -> None:
        """Look through it again: the window goes."""
        gc.unfreeze()

    def settle(self) -> None:
        """Leave out threads that ended where nobody heard of it: the event loop was over."""
        self._forget(each for each in self._working if not each.is_alive())

    def ended(self, thread: threading.Thread) -> None:
        """A thread has nothing more to do, and is waited for."""
        if thread in self._working:
            thread.join()
            self._forget([thread])

    def _forget(self, threads: Iterable[threading.Thread]) -> None:
        self._working.difference_update([*threads])
        if self._off and not self._working:
            gc.enable()
            self._off = False
            self._end_clock()

    def _begin_clock(self) -> None:
        application = QCoreApplication.instance()
        if application is not None:
            self._clock = _Clock(self, application)

    def _end_clock(self) -> None:
        # An application that has ended took its clock along.
        if self._clock is not None and shiboken6.isValid(self._clock):
            self._clock.end()
        self._clock = None


class _Clock(QObject):
    """Lets the watch look, whether or not a thread reports anything."""

    def __init__(self, watch: GarbageWatch, application: QCoreApplication) -> None:
        super().__init__(application)
        self._watch = watch
        self._number = self.startTimer(EVERY_MS)

    def end(self) -> None:
        self.killTimer(self._number)
        self.deleteLater()

    def timerEvent(self, _event: QTimerEvent) -> None:  # noqa: N802 (Qt's name)
        self._watch.goes_on()
        self._watch.settle()


GARBAGE = GarbageWatch()
"""The one of this process, as the collector is."""
