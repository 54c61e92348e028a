"""The strategies as TensorFlow runs them; each file is named as its counterpart in the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpu_studio.plan import (
    CENTRAL_STORAGE,
    MIRRORED,
    MULTI_WORKER,
    NONE,
    ONE_DEVICE,
    PARAMETER_SERVER,
    PLACED,
    Cluster,
    DeviceLike,
    Distribution,
    default_devices,
)
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.strategies import (
    central_storage,
    mirrored,
    multi_worker,
    none,
    one_device,
    parameter_server,
    placed,
)
from gpu_studio.trainer.strategies.spread import Served, Spread

__all__ = ["JOINED", "SPREADS", "Maker", "Served", "Spread", "refuse_impossible", "spread_over"]

Spreads = Callable[[Distribution, Sequence[DeviceLike]], Spread]
Names = Callable[[str], Sequence[str]]

SPREADS: Mapping[str, Spreads] = {
    NONE.name: none.spread,
    ONE_DEVICE.name: one_device.spread,
    MIRRORED.name: mirrored.spread,
    CENTRAL_STORAGE.name: central_storage.spread,
    PLACED.name: placed.spread,
}
"""What makes each strategy, by its name in a plan, over the devices chosen for it."""
JOINED: Mapping[str, Callable[[Distribution, Names, Cluster], tuple[Any, Spreads]]] = {
    MULTI_WORKER.name: multi_worker.joined,
    PARAMETER_SERVER.name: parameter_server.joined,
}
"""What makes those that join processes, before anything else initialises the devices.

It gives the strategy, and what stands in the place of SPREADS.
"""


class Maker:
    """Makes the strategy of a plan, at the moment at which TensorFlow wants it made."""

    def __init__(self, distribution: Distribution, cluster: Cluster | None = None) -> None:
        self._distribution, self._cluster = distribution, cluster or Cluster()
        self._make = SPREADS.get(distribution.strategy)
        self.joined: Any = None
        """The strategy that joins this process and others; None of a single one."""

    def first(self, names: Names) -> None:
        """Make what must come before the devices; `names` lists those of a kind, which waits."""
        if (join := JOINED.get(self._distribution.strategy)) is not None:
            self.joined, self._make = join(self._distribution, names, self._cluster)

    def spread(self, logical: Sequence[DeviceLike]) -> Spread:
        """The strategy over these devices. Raises PlanRefused if they cannot run it."""
        devices = _chosen(self._distribution, logical)
        if self._make is None:
            message = f"This trainer cannot run the strategy {self._distribution.strategy!r}."
            raise PlanRefused(message, ["Choose mirrored."])
        return self._make(self._distribution, devices)


def spread_over(distribution: Distribution, logical: Sequence[DeviceLike]) -> Spread:
    """The strategy of a plan of one process. Raises PlanRefused if the devices cannot run it."""
    return Maker(distribution).spread(logical)


def refuse_impossible(strategy: Any, *, float16: bool) -> None:
    """Raises PlanRefused for a precision that Keras cannot use under `strategy`.

    `strategy` is one of `tf.distribute` with several replicas.
    """
    central_storage.refuse_impossible(strategy, float16=float16)


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
