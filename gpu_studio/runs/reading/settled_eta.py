"""The time that a run still takes, as a figure that settles: it runs down evenly, and gives way slowly."""

from __future__ import annotations

import math
from typing import Final

from gpu_studio.runs.reading.history import History
from gpu_studio.runs.wording import UNKNOWN

SETTLING_SECONDS: Final = 15.0
"""Of a difference to what is estimated, two thirds are made good in so many seconds of training."""
_MINUTE, _HOUR = 60.0, 3600.0
# Up to so many seconds the time is told in steps of so many.
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
"""A figure stays until the time has moved by more than this part of a step from it: one half would flicker."""


class SettledEta:
    """Follows the estimate of one run. `words` is what there is to say."""

    def __init__(self) -> None:
        self._left: float | None = None
        self._time: float | None = None
        self._told: float | None = None

    @property
    def seconds(self) -> float | None:
        """Seconds of training left; None while that cannot be told."""
        return self._left

    @property
    def words(self) -> str:
        """The same in words, coarse where it is far: `about 25 min`; `–` while it cannot be told."""
        if self._left is None:
            return UNKNOWN
        step = _step(self._left)
        if self._told is None or _step(self._told) != step or abs(self._left - self._told) > _STAYS * step:
            self._told = round(self._left / step) * step
        return in_words(self._told)

    def restart(self) -> None:
        """Follow another run."""
        self._left = self._time = self._told = None

    def follow(self, history: History) -> None:
        """Take in what is estimated now. While the run is paused, no time goes by."""
        estimate, now = history.eta_seconds, history.last_time
        if estimate is None or now is None:
            self.restart()
            return
        passed = max(0.0, now - self._time) if self._time is not None else 0.0
        self._time = now
        if self._left is None:
            self._left = estimate
        elif history.state in ("running", "stopping"):
            expected = max(0.0, self._left - passed)
            self._left = expected + (estimate - expected) * (1 - math.exp(-passed / SETTLING_SECONDS))


def in_words(seconds: float) -> str:
    """A time as one says it: `a few seconds`, `about 40 s`, `about 25 min`, `about 1 h 30 min`."""
    if seconds < _FEW:
        return "a few seconds"
    if seconds < _MINUTE:
        return f"about {seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (0 if hours else rest, "s"))
    return f"about {' '.join(f'{count} {unit}' for count, unit in parts if count)}"


def _step(seconds: float) -> float:
    return next(step for most, step in _STEPS if seconds < most)
