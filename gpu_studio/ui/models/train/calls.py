"""How fast each call of the compiled function was, over time: what the plots' readout tells besides the loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gpu_studio.runs.events import Steps
from gpu_studio.runs.reading.series import Series
from gpu_studio.steady import SteadyClock

_MOST = 1 << 16
_COLUMNS = ("time", "step", "input", "samples")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: seconds a step, the part (0 to 1) of the time spent waiting for data, and samples a second."""

    step_seconds: float
    input_share: float
    samples_per_second: float


class Calls:
    """The calls of a run in the order they came."""

    def __init__(self) -> None:
        self._series = Series(*_COLUMNS, by="step", along="time", most=_MOST)
        self._clock = SteadyClock()

    def add(self, event: Steps) -> None:
        """Take note of a call; one without steps or time tells nothing."""
        self.add_all((event,))

    def add_all(self, told: Iterable[Steps]) -> None:
        """Take note of calls, cheaper together than one by one."""
        points = [
            (
                self._clock.at(call.time, call.elapsed),
                call.seconds / len(call.losses),
                call.input_seconds / call.seconds,
                call.samples / call.seconds,
            )
            for call in told
            if call.losses and call.seconds > 0
        ]
        if points:
            self._series.add_rows(points)

    def foresee(self, later: Calls) -> None:
        """Know the calls of `later`, which are still to come, until they are added."""
        self._series.foresee(*(later._series.column(name) for name in _COLUMNS))

    def at(self, time: float) -> Call | None:
        """The newest call that had ended by `time`, in seconds since 1970; None if there was none."""
        index = int(np.searchsorted(self._series.column("time"), time, side="right")) - 1
        if index < 0:
            return None
        step, waiting, samples = (float(self._series.column(name)[index]) for name in _COLUMNS[1:])
        return Call(step, waiting, samples)
