"""When to try again what has failed: soon at first, then less and less often."""

from __future__ import annotations


class BackOff:
    """Each failure doubles the wait, from `shortest` to `longest` seconds; a success forgets them all."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest = shortest
        self._longest = longest
        self._wait = 0.0
        self.due: float | None = None

    def failed(self, now: float) -> None:
        """It failed at `now`; try again later."""
        self._wait = min(self._longest, max(self._shortest, 2 * self._wait))
        self.due = now + self._wait

    def succeeded(self) -> None:
        """It worked; nothing is to be tried again."""
        self._wait = 0.0
        self.due = None

    def at_once(self, now: float) -> None:
        """Try again now, whatever has been."""
        self.due = now

    def is_due(self, now: float) -> bool:
        """Whether it is time to try again."""
        return self.due is not None and now >= self.due
