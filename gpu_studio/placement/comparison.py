"""Compare a predicted step with a measured one, device by device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.placement.occupation import bubble_of
from gpu_studio.placement.schedule import StepTimeline, busy_in


@dataclass(frozen=True, slots=True)
class DeviceShares:
    """The share (0 to 1) of a step in which a device works, predicted and measured."""

    device: str
    predicted: float
    measured: float


@dataclass(frozen=True, slots=True)
class StepComparison:
    """Seconds and bubble of a step, predicted and measured, and the shares of each active device.

    A step takes longer under the profiler, so `measured_seconds` are an upper bound.
    """

    predicted_seconds: float
    measured_seconds: float
    predicted_bubble: float
    measured_bubble: float
    devices: tuple[DeviceShares, ...]


def compare(
    step: StepTimeline, names: Sequence[str], busy: Mapping[str, float], seconds: float
) -> StepComparison:
    """Compare the predicted `step` on the devices `names` with a measured one.

    The latter took `seconds`, and each device was `busy` for the given part of them.
    """
    expected = {names[place]: taken for place, taken in busy_in(step.tasks).items()}
    return StepComparison(
        step.seconds,
        seconds,
        step.bubble,
        bubble_of(busy.values(), seconds),
        tuple(
            DeviceShares(
                name,
                _share(expected.get(name, 0.0), step.seconds),
                _share(busy.get(name, 0.0), seconds),
            )
            for name in names
            if name in expected or name in busy
        ),
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
