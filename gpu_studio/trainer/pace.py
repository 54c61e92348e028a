"""How many training steps to put into one call of the compiled function."""

from __future__ import annotations

CALL_SECONDS = 0.1
FASTER_AT_MOST = 4


class Pace:
    """Chooses so many steps that a call lasts about a tenth of a second.

    Fewer calls cost less (the way from Python into TensorFlow and back is paid once a call); longer ones would make
    the curves jerk and *Stop* wait. A plan's `steps_per_call` above 0 is taken as it is.
    """

    def __init__(self, wanted: int) -> None:
        self._fixed = wanted
        self._steps = wanted or 1

    def next(self, left: int) -> int:
        """Steps of the next call, when `left` steps are left in the epoch."""
        return max(1, min(self._steps, left))

    def measured(self, steps: int, seconds: float) -> None:
        """Learn from a call of `steps` steps that took `seconds`."""
        if self._fixed:
            return
        fitting = int(CALL_SECONDS * steps / max(seconds, 1e-6))
        # The first call is slow because it is traced, a later one may be by chance: approach, don't jump.
        self._steps = max(1, min(fitting, FASTER_AT_MOST * self._steps))
