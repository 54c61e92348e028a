"""Measured times of a plan's layers, and of the links between devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpu_studio.placement.correction import MeasuredPeak, held_in
from gpu_studio.placement.estimate import Times, links_in, times_in
from gpu_studio.plan import PlannedDevice


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of layers by logical device and layer, and the bytes/s between physical devices.

    `held` is what a step held on each device that was measured.
    """

    times: Mapping[str, Times]
    links: Mapping[str, float] = field(default_factory=dict)
    held: Mapping[str, MeasuredPeak] = field(default_factory=dict)


def measurement_in(answer: Mapping[str, Any], devices: Sequence[PlannedDevice]) -> Measurement:
    """Return the trainer's answer about these devices.

    Raises ValueError if it is no such answer.
    """
    return Measurement(times_in(answer, devices), links_in(answer, devices), held_in(answer))
