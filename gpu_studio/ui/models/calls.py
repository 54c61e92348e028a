"""How fast each call of the compiled function was, over time: what the plots' readout tells besides the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpu_studio.runs.events import Steps
from gpu_studio.runs.series import Series

_MOST = 1 << 17


@dataclass(frozen=True, slots=True)
class Call:
    """One call: seconds a step, the part (0 to 1) of the time spent waiting for data, and samples a second."""

    step_seconds: float
    input_share: float
    samples_per_second: float


class Calls:
    """The calls of a run in the order they came."""

    def __init__(self) -> None:
        self._series = Series("time", "step", "input", "samples", by="step", most=_MOST)

    def add(self, event: Steps) -> None:
        """Take note of a call; one without steps or time tells nothing."""
        if event.losses and event.seconds > 0:
            self._series.add(
                event.time,
                event.seconds / len(event.losses),
                event.input_seconds / event.seconds,
                event.samples / event.seconds,
            )

    def at(self, time: float) -> Call | None:
        """The newest call that had ended by `time`, in seconds since 1970; None if there was none."""
        index = int(np.searchsorted(self._series.column("time"), time, side="right")) - 1
        if index < 0:
            return None
        step, waiting, samples = (float(self._series.column(name)[index]) for name in ("step", "input", "samples"))
        return Call(step, waiting, samples)
