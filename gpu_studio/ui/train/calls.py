"""The speed of each call of the compiled function over time.

The plots' readout shows it besides the loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract.events import Steps
from gpu_studio.runs.reading.series import Series

_MOST = 1 << 16
_COLUMNS = ("time", "step", "input", "samples")


@dataclass(frozen=True, slots=True)
class CallFigures:
    """One call.

    It has seconds per step, the share (0 to 1) of the time spent waiting for data, and samples per
    second.
    """

    step_seconds: float
    input_share: float
    samples_per_second: float


class RunCalls:
    """The calls of a run in the order of their arrival."""

    def __init__(self) -> None:
        self._series = Series(*_COLUMNS, by="step", along="time", most=_MOST)
        self._clock = SteadyClock()

    def add(self, event: Steps) -> None:
        """Add a call; one without steps or time is ignored."""
        self.add_all((event,))

    def add_all(self, reported: Iterable[Steps]) -> None:
        """Add calls, which is cheaper together than one by one."""
        points = [
            (
                self._clock.at(call.time, call.elapsed),
                call.seconds / len(call.losses),
                call.input_seconds / call.seconds,
                call.samples / call.seconds,
            )
            for call in reported
            if call.losses and call.seconds > 0
        ]
        if points:
            self._series.add_rows(points)

    def foresee(self, later: RunCalls) -> None:
        """Use the calls of `later`, which are still to be added, until they are."""
        self._series.foresee(*(later._series.column(name) for name in _COLUMNS))

    def at(self, time: float) -> CallFigures | None:
        """Return the newest call that had ended by `time`, in seconds since 1970.

        None if there is none.
        """
        index = int(np.searchsorted(self._series.column("time"), time, side="right")) - 1
        if index < 0:
            return None
        step, waiting, samples = (float(self._series.column(name)[index]) for name in _COLUMNS[1:])
        return CallFigures(step, waiting, samples)
