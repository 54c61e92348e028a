"""How the time of training calls was spent: data, computing, communication, and idle.

Waiting for data is measured in every step. The rest is divided in the proportions of the steps that
were profiled once, near the beginning of the run: these three parts are extrapolated, and always
labelled so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpu_studio.contract.events import Communication, Devices

KNOWN_VERSION: Final = 1
"""The newest rules of telling communication from computing that can be read here."""
ONE_DEVICE: Final = "none: one device"
NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds or shares: any device computes; none computes and any communicates; all are idle."""

    compute: float
    communication: float
    idle: float

    def of(self, whole: float) -> Parts:
        """The same proportions of another total."""
        return Parts(self.compute * whole, self.communication * whole, self.idle * whole)


def step_parts(reported: Communication | None) -> Parts | None:
    """The shares (sum 1) of a step's time without its wait for data; None if that was not measured.

    While one replica waits for data others may compute: the wait is taken from the idle time.
    """
    if reported is None or reported.version > KNOWN_VERSION:
        return None
    idle = max(0.0, reported.seconds - reported.compute - reported.exposed - reported.input_seconds)
    whole = reported.compute + reported.exposed + idle
    return Parts(reported.compute, reported.exposed, idle).of(1 / whole) if whole > 0 else None


def why_no_communication(devices: Devices | None) -> str:
    """The text in place of an unknown communication time."""
    if devices is None or len(devices.replicas) != 1:
        return NOT_MEASURED
    return ONE_DEVICE if devices.parameter_device in (None, *devices.replicas) else NOT_MEASURED


def steps_in_words(reported: Communication) -> str:
    """Which steps were profiled, counted from 1: `step 3`, `steps 3 to 7`."""
    first, last = reported.step + 1, reported.step + reported.steps
    return f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
