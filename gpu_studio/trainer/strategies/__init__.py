"""The strategies as TensorFlow runs them; each file is named as its counterpart in the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpu_studio.plan import (
    CENTRAL_STORAGE,
    MIRRORED,
    NONE,
    ONE_DEVICE,
    PLACED,
    Distribution,
)
from gpu_studio.plan.devices import DeviceLike, default_devices
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.strategies import central_storage, mirrored, none, one_device, placed
from gpu_studio.trainer.strategies.spread import Spread

__all__ = ["SPREADS", "Spread", "refuse_impossible", "spread_over"]

SPREADS: Mapping[str, Callable[[Distribution, Sequence[DeviceLike]], Spread]] = {
    NONE.name: none.spread,
    ONE_DEVICE.name: one_device.spread,
    MIRRORED.name: mirrored.spread,
    CENTRAL_STORAGE.name: central_storage.spread,
    PLACED.name: placed.spread,
}
"""What makes each strategy, by its name in a plan, over the devices chosen for it."""


def spread_over(distribution: Distribution, logical: Sequence[DeviceLike]) -> Spread:
    """The strategy of a plan over these devices. Raises PlanRefused if they cannot run it."""
    devices = _chosen(distribution, logical)
    if (make := SPREADS.get(distribution.strategy)) is None:
        message = f"This trainer cannot run the strategy {distribution.strategy!r}."
        raise PlanRefused(message, ["Choose mirrored."])
    return make(distribution, devices)


def refuse_impossible(strategy: Any, optimizer: str, *, float16: bool) -> None:
    """Raises PlanRefused for an optimizer or precision that Keras cannot use under `strategy`.

    `strategy` is one of `tf.distribute` with several replicas.
    """
    central_storage.refuse_impossible(strategy, optimizer, float16=float16)


def _chosen(distribution: Distribution, logical: Sequence[DeviceLike]) -> list[DeviceLike]:
    known = {device.name: device for device in logical}
    missing = [name for name in distribution.devices if name not in known]
    if missing:
        raise PlanRefused(
            f"The plan spreads over {', '.join(missing)}, which TensorFlow does not see.",
            [f"Choose among {', '.join(known)}."],
        )
    names = distribution.devices or default_devices(logical)
    return [known[name] for name in names]
