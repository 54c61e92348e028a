"""Central storage, in the trainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from gpu_studio.plan import CENTRAL_STORAGE, DeviceLike, Distribution
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.strategies.spread import Spread, replicas_of


def spread(chosen: Distribution, devices: Sequence[DeviceLike]) -> Spread:
    """A replica on each of these devices, and all variables on one device."""
    names = replicas_of(CENTRAL_STORAGE, chosen, devices)
    home = CENTRAL_STORAGE.parameter_home(chosen, names)
    strategy = tf.distribute.experimental.CentralStorageStrategy(list(names), home)
    return Spread(CENTRAL_STORAGE.name, strategy, names, names[0], parameter_device=home)


def refuse_impossible(strategy: Any, *, float16: bool) -> None:
    """Raises PlanRefused if `strategy` is this one and its replicas would write variables.

    It forbids that for variables whose `aggregation` Keras does not set, as of a scaled loss.
    """
    if float16 and isinstance(strategy, tf.distribute.experimental.CentralStorageStrategy):
        raise PlanRefused(
            f"Keras cannot carry out float16 mixed precision under {CENTRAL_STORAGE.name}.",
            ['Set distribution.strategy = "mirrored", which can.', "Leave it out."],
        )
