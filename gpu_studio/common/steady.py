"""Turn recorded times into monotonic ones, even if the machine's clock was set meanwhile."""

from __future__ import annotations

import math
import time as clocks
from typing import Final

LATEST: Final = 221_845_392_000.0
"""The year 9000, in seconds since the epoch: a later time may have no date."""


def steady_seconds() -> float:
    """Seconds on a clock that cannot be set and, where the system has one, runs while it sleeps."""
    return clocks.clock_gettime(getattr(clocks, "CLOCK_BOOTTIME", clocks.CLOCK_MONOTONIC))


class SteadyClock:
    """Corrects the times of a file's lines, given in order, as if the clock had never been set.

    Times are in seconds. A line may also give those of a monotonic clock (`steady`, counted from
    any moment of its process): then only the first line's time counts, and later times follow that
    clock. Without `steady`, times are only kept from falling: after the clock was set back they
    continue from the latest one, and a clock set forward leaves a gap, as a pause does.
    """

    def __init__(self) -> None:
        self._newest = -math.inf
        self._behind = 0.0
        self._steady = math.inf
        self._origin = 0.0

    @property
    def newest(self) -> float:
        """The corrected time of the latest line so far."""
        return self._newest

    @property
    def behind(self) -> float:
        """Seconds to add to what the machine's clock shows now.

        Negative once it was set forward.
        """
        return self._behind

    def at(self, reported: float, steady: float = 0.0) -> float:
        """The corrected time of the next line, never less than before.

        A time that is not a number counts as `newest`, and one after `LATEST` as that. `steady` is
        0 if the line does not give it.
        """
        if steady >= self._steady > 0:  # the same process goes on: as nearly all lines of a run do
            time = self._origin + steady
            if self._newest <= time <= LATEST and math.isfinite(reported):
                self._steady, self._newest, self._behind = steady, time, time - reported
                return time
        if steady > 0 and (time := self._by_steady(reported, steady)) < math.inf:
            self._newest = time
            self._behind = time - reported if math.isfinite(reported) else self._behind
            return time
        time = min(reported + self._behind, LATEST)
        if not time >= self._newest:
            time = self._newest
            self._behind = time - reported if math.isfinite(reported) else self._behind
        self._newest = time
        return time

    def _by_steady(self, reported: float, steady: float) -> float:
        """The time by the monotonic clock; infinite where it cannot be determined."""
        if steady < self._steady:  # the first line, or the first of another process
            begun = max(reported + self._behind, self._newest)
            self._origin = (begun if math.isfinite(begun) else math.inf) - steady
        self._steady = steady
        return max(min(self._origin + steady, LATEST), self._newest)
