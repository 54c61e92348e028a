"""A steadied display of the remaining time: it counts down evenly, and adjusts slowly."""

from __future__ import annotations

import math
from typing import Final

from gpu_studio.common.figures import UNKNOWN, even_duration
from gpu_studio.runs.reading.history import History

SETTLING_SECONDS: Final = 15.0
"""Of a difference to what is estimated, two thirds are made good in so many seconds of training."""
_MINUTE, _HOUR = 60.0, 3600.0
# Up to this many seconds, the time is shown in steps of this many.
_STEPS: Final = (
    (_MINUTE, 10.0),
    (3 * _MINUTE, 30.0),
    (10 * _MINUTE, _MINUTE),
    (_HOUR, 5 * _MINUTE),
    (10 * _HOUR, 30 * _MINUTE),
    (math.inf, _HOUR),
)
_FEW: Final = 10.0
_STAYS: Final = 0.6
"""A figure stays until the time has moved by more than this part of a step from it.

One half would flicker.
"""


class SettledEta:
    """Follows the estimate of one run. `words` is the text to show."""

    def __init__(self) -> None:
        self.left: float | None = None
        self._time: float | None = None
        self.reported: float | None = None

    @property
    def seconds(self) -> float | None:
        """Seconds of training left; None if unknown."""
        return self.left

    @property
    def words(self) -> str:
        """The same in words, coarse if it is far: `about 25 min`; `–` if unknown."""
        if self.left is None:
            return UNKNOWN
        step = _step(self.left)
        if (
            self.reported is None
            or _step(self.reported) != step
            or abs(self.left - self.reported) > _STAYS * step
        ):
            self.reported = round(self.left / step) * step
        return in_words(self.reported)

    def restart(self) -> None:
        """Follow another run."""
        self.left = self._time = self.reported = None

    def follow(self, history: History) -> None:
        """Process the current estimate. While the run is paused, no time elapses."""
        estimate, now = history.eta_seconds, history.last_time
        if estimate is None or now is None:
            self.restart()
            return
        passed = max(0.0, now - self._time) if self._time is not None else 0.0
        self._time = now
        if self.left is None:
            self.left = estimate
        elif history.state in ("running", "stopping"):
            expected = max(0.0, self.left - passed)
            self.left = expected + (estimate - expected) * (
                1 - math.exp(-passed / SETTLING_SECONDS)
            )


def in_words(seconds: float) -> str:
    """A time as one says it: `a few seconds`, `about 40 s`, `about 25 min`, `about 1 h 30 min`."""
    if seconds < _FEW:
        return "a few seconds"
    return f"about {even_duration(seconds)}"


def _step(seconds: float) -> float:
    return next(step for most, step in _STEPS if seconds < most)
