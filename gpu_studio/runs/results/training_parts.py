"""What training calls were spent on: data, computing, communication between devices, and nothing at all.

Waiting for data is measured in every step. The rest of the time is shared out as that of the steps that were profiled
once, near the beginning of the run: these three are extrapolated, and wherever they are told, that is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpu_studio.runs.events import Communication, Devices

KNOWN_VERSION: Final = 1
"""The newest rules of telling communication from computing that can be read here."""
ONE_DEVICE: Final = "none: one device"
NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds, or parts of 1, in which any device computes; none does, and any communicates; none does anything."""

    compute: float
    communication: float
    idle: float

    def of(self, whole: float) -> Parts:
        """The same parts of another whole."""
        return Parts(self.compute * whole, self.communication * whole, self.idle * whole)


def step_parts(told: Communication | None) -> Parts | None:
    """The shares (together 1) of a step's time without its wait for data; None if that was not measured.

    While a replica waits for data others may compute: a wait is taken from the time in which nothing is done.
    """
    if told is None or told.version > KNOWN_VERSION:
        return None
    idle = max(0.0, told.seconds - told.compute - told.exposed - told.input_seconds)
    whole = told.compute + told.exposed + idle
    return Parts(told.compute, told.exposed, idle).of(1 / whole) if whole > 0 else None


def why_no_communication(devices: Devices | None) -> str:
    """What stands in the place of a time in communication that is not known."""
    if devices is None or len(devices.replicas) != 1:
        return NOT_MEASURED
    return ONE_DEVICE if devices.parameter_device in (None, *devices.replicas) else NOT_MEASURED


def steps_in_words(told: Communication) -> str:
    """Which steps were profiled, counted from 1: `step 3`, `steps 3 to 7`."""
    first, last = told.step + 1, told.step + told.steps
    return f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
