"""Times that never fall, whatever is done to the clock of the machine that they come from."""

from __future__ import annotations

import math


class SteadyClock:
    """Takes the times of a file's lines in their order, in seconds: gives them as if the clock was never put back.

    After it was put back the times go on from the newest before: the hour that is lived twice stands there twice as
    long, and no curve runs backwards. A clock put forward leaves a gap, because nobody can tell it from a pause.
    One that begins in the middle of a file is told what it was there.
    """

    def __init__(self, newest: float = -math.inf, behind: float = 0.0) -> None:
        self._newest = newest
        self._behind = behind

    @property
    def newest(self) -> float:
        """The time of the newest line so far."""
        return self._newest

    @property
    def behind(self) -> float:
        """By how many seconds the clock has been put back so far, in all."""
        return self._behind

    def at(self, told: float) -> float:
        """The time that stands for the one told next, never less than before. What is no number is the newest."""
        time = told + self._behind
        if not time >= self._newest:
            time = self._newest
            self._behind = time - told if math.isfinite(told) else self._behind
        self._newest = time
        return time
