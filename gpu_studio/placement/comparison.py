"""A predicted step beside a measured one, device by device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.placement.occupation import bubble_of
from gpu_studio.placement.schedule import Timeline, busy_in


@dataclass(frozen=True, slots=True)
class DeviceShares:
    """The share (0 to 1) of a step in which a device works, as predicted and as measured."""

    device: str
    predicted: float
    measured: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Seconds and bubble of a step, as predicted and as measured, and the shares of each device that does anything.

    Under the profiler a step takes longer than without it, so that `measured_seconds` are too many.
    """

    predicted_seconds: float
    measured_seconds: float
    predicted_bubble: float
    measured_bubble: float
    devices: tuple[DeviceShares, ...]


def compare(step: Timeline, names: Sequence[str], busy: Mapping[str, float], seconds: float) -> Comparison:
    """The predicted `step` on the devices `names` beside one that took `seconds`, in which each was `busy` so long."""
    expected = {names[place]: taken for place, taken in busy_in(step.tasks).items()}
    return Comparison(
        step.seconds,
        seconds,
        step.bubble,
        bubble_of(busy.values(), seconds),
        tuple(
            DeviceShares(name, _share(expected.get(name, 0.0), step.seconds), _share(busy.get(name, 0.0), seconds))
            for name in names
            if name in expected or name in busy
        ),
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
