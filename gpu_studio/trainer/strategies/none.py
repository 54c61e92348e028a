"""None, in the trainer."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from gpu_studio.plan import NONE, DeviceLike, Distribution
from gpu_studio.trainer.strategies.spread import Spread, replicas_of


def spread(chosen: Distribution, devices: Sequence[DeviceLike]) -> Spread:
    """TensorFlow's default strategy, on the first of these devices."""
    names = replicas_of(NONE, chosen, devices)
    return Spread(NONE.name, tf.distribute.get_strategy(), names, None)
