"""How many training steps to put into one call of the compiled function."""

from __future__ import annotations

CALL_SECONDS = 0.1
FASTER_AT_MOST = 4


class CallLength:
    """Chooses the number of steps so that a call lasts about a tenth of a second.

    Fewer calls cost less, because each pays once for the way from Python into TensorFlow and back.
    Longer calls would make the curves jerk and *Stop* wait. A plan's `steps_per_call` above 0 is
    used as it is.
    """

    def __init__(self, wanted: int) -> None:
        self._fixed = wanted
        self._steps = wanted or 1

    def next(self, left: int) -> int:
        """Return the steps of the next call, with `left` steps left in the epoch."""
        return max(1, min(self._steps, left))

    def measured(self, steps: int, seconds: float) -> None:
        """Learn from a call of `steps` steps that took `seconds`."""
        if self._fixed:
            return
        fitting = int(CALL_SECONDS * steps / max(seconds, 1e-6))
        # The first call is slow because it is traced, and a later one may be by chance: adjust
        # gradually.
        self._steps = max(1, min(fitting, FASTER_AT_MOST * self._steps))
