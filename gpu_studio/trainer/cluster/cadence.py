"""When the processes of a cluster agree anew: after some calls, of about half a second together.

An exchange takes all of them some milliseconds, and mostly nobody wishes anything. So they agree on
several calls at once, and make these without a word: nobody can be at another place meanwhile, and
a stop waits for half a second at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gpu_studio.trainer.team import Place

AGREE_SECONDS = 0.5
MORE_AT_MOST = 4
"""So many times as many calls as before, at most: one that was fast may have been so by chance."""


class Cadence:
    """How many calls have been agreed on, and how many worker 0 would like to agree on next."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._place: Place | None = None
        self._steps, self._left, self._made = 0, 0, 0
        self._began = 0.0
        self._next: dict[Place, int] = {}

    def known(self, place: Place) -> int | None:
        """The steps of the next call, if all have agreed on it before; None if they must now."""
        if place != self._place or not self._left:
            return None
        self._left -= 1
        self._made += 1
        return self._steps

    def wanted(self, place: Place) -> int:
        """On so many calls at this place worker 0 would like to agree now."""
        if self._place is not None:
            each = max((self._now() - self._began) / self._made, 1e-6)
            most = MORE_AT_MOST * self._next.get(self._place, 1)
            self._next[self._place] = max(1, min(int(AGREE_SECONDS / each), most))
        return self._next.get(place, 1)

    def agreed(self, place: Place, calls: int, steps: int) -> None:
        """Take note of what all have agreed on, of which the first call is made now."""
        self._place, self._steps, self._left, self._made = place, steps, calls - 1, 1
        self._began = self._now()
