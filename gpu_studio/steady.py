"""Times that never fall, whatever is done to the clock of the machine that they come from."""

from __future__ import annotations

import math
import time as clocks


def steady_seconds() -> float:
    """Seconds on a clock that nobody sets, and that goes on while the computer sleeps, where it has such a one."""
    return clocks.clock_gettime(getattr(clocks, "CLOCK_BOOTTIME", clocks.CLOCK_MONOTONIC))


class SteadyClock:
    """Takes the times of a file's lines in their order, in seconds: gives them as if the clock had never been set.

    A line may also tell seconds of a clock that nobody sets (`steady`, from whatever moment its process counts them):
    then only the first line's time counts, and each later time is as much later as that clock says. Of lines without
    them no more is known than that time does not fall: after the clock was put back the times go on from the newest
    before, and a clock put forward leaves a gap, because nobody can tell it from a pause.
    """

    def __init__(self) -> None:
        self._newest = -math.inf
        self._behind = 0.0
        self._steady = math.inf
        self._origin = 0.0

    @property
    def newest(self) -> float:
        """The time of the newest line so far."""
        return self._newest

    @property
    def behind(self) -> float:
        """What has to be added to what the clock of the machine shows now: less than 0 once it was put forward."""
        return self._behind

    def at(self, told: float, steady: float = 0.0) -> float:
        """The time that stands for the one told next, never less than before. What is no number is the newest.

        `steady` is 0 where a line does not tell it.
        """
        if steady > 0 and (time := self._by_steady(told, steady)) < math.inf:
            self._newest = time
            self._behind = time - told if math.isfinite(told) else self._behind
            return time
        time = told + self._behind
        if not time >= self._newest:
            time = self._newest
            self._behind = time - told if math.isfinite(told) else self._behind
        self._newest = time
        return time

    def _by_steady(self, told: float, steady: float) -> float:
        """The time by the clock that nobody sets; infinite where that cannot be told."""
        if steady < self._steady:  # the first line, or the first of another process
            begun = max(told + self._behind, self._newest)
            self._origin = (begun if math.isfinite(begun) else math.inf) - steady
        self._steady = steady
        return max(self._origin + steady, self._newest)
