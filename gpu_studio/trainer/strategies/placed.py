"""Placed, in the trainer: `trainer/placed` does the work, without `tf.distribute`."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from gpu_studio.plan import CPU, PLACED, DeviceLike, Distribution, Placed
from gpu_studio.trainer.strategies.spread import Spread, replicas_of


def spread(chosen: Distribution, devices: Sequence[DeviceLike]) -> Spread:
    """One model over the devices that its placement names, or on the first if it names none."""
    names = replicas_of(PLACED, chosen, devices)
    placement = chosen.placed or Placed()
    # Made by the host: no device need have room for the whole model.
    return Spread(PLACED.name, tf.distribute.get_strategy(), names, CPU, placement=placement)
