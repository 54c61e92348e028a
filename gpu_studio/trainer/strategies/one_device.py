"""One device, in the trainer."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from gpu_studio.plan import ONE_DEVICE, DeviceLike, Distribution
from gpu_studio.trainer.strategies.spread import Spread, replicas_of


def spread(chosen: Distribution, devices: Sequence[DeviceLike]) -> Spread:
    """Everything on the first of these devices."""
    names = replicas_of(ONE_DEVICE, chosen, devices)
    strategy = tf.distribute.OneDeviceStrategy(f"/device:{names[0]}")
    # An iterator over devices takes a tenth of a second to make; it sends ahead to a card.
    on_cpu = names[0].startswith("CPU")
    return Spread(ONE_DEVICE.name, strategy, names, names[0], reads_plainly=on_cpu)
