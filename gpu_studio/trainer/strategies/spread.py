"""The result of setting up a plan's strategy on the devices of this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_studio.plan import Distribution, Placed, Strategy
from gpu_studio.plan.devices import DeviceLike


@dataclass(frozen=True, slots=True)
class Spread:
    """A strategy of `tf.distribute`, and what was decided for it.

    `replicas` are logical names. Where layers are placed, `placement` says how, and `replicas` are
    the devices that hold them. The model is made on `made_on`, as far as the strategy puts nothing
    elsewhere; on TensorFlow's own choice, the first device, if it is None.
    """

    name: str
    strategy: Any
    replicas: tuple[str, ...]
    made_on: str | None
    all_reduce: str | None = None
    parameter_device: str | None = None
    placement: Placed | None = None


def replicas_of(
    strategy: Strategy, chosen: Distribution, devices: Sequence[DeviceLike]
) -> tuple[str, ...]:
    """Return the names of those of these devices that hold the model or a part of it."""
    return strategy.replica_devices(chosen, [device.name for device in devices])
