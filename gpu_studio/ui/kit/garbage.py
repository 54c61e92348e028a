"""Python's garbage is collected in the window's thread, never in one that works beside it.

The collector begins wherever an object is made. What it frees may be Qt's, such as a dialog that a
cycle of references kept: destroyed in another thread its timers cannot be stopped, and a window
waits for ever, or Qt crashes as both threads change what is shown.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable


class GarbageWatch:
    """Keeps the collector off while threads work. Its methods are the window's thread's."""

    def __init__(self) -> None:
        self._working: set[threading.Thread] = set()
        self._off = False

    def begins(self, thread: threading.Thread) -> None:
        """A thread is about to start."""
        self.settle()
        self._working.add(thread)
        if gc.isenabled():
            gc.disable()
            self._off = True

    def goes_on(self) -> None:
        """Collect here what is young, as the collector would have by itself."""
        counts, limits = gc.get_count(), gc.get_threshold()
        if self._off and counts[0] > limits[0] > 0:
            gc.collect(1 if counts[1] > limits[1] else 0)

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


GARBAGE = GarbageWatch()
"""The one of this process, as the collector is."""
