"""Times that never fall, whatever is done to the clock of the machine that they come from."""

from __future__ import annotations

import math


class SteadyClock:
    """Takes the times of a file's lines in their order, in seconds: gives them as if the clock was never put back.

    After it was put back the times go on from the newest before: the hour that is lived twice stands there twice as
    long, and no curve runs backwards. A clock put forward leaves a gap, because nobody can tell it from a pause.
    """

    def __init__(self) -> None:
        self._newest = -math.inf
        self._behind = 0.0

    def at(self, told: float) -> float:
        """The time that stands for the one told next, never less than before. What is no number is the newest."""
        time = told + self._behind
        if not time >= self._newest:
            time = self._newest
            self._behind = time - told if math.isfinite(told) else self._behind
        self._newest = time
        return time
