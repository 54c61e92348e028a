"""What real steps hold on their device at the most, besides what lies there before: by TensorFlow's own allocator."""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from typing import Final

import tensorflow as tf

STEPS: Final = 5


def held_by(step: Callable[[], object], device: str) -> int:
    """The median over some runs of `step` of the most bytes in use on `device` (`GPU:0`) above those before it.

    For a logical CPU the allocator counts what all of them hold together. How far data are read ahead differs from step
    to step, and so does the peak, a little.
    """
    return round(median(_once(step, device) for _ in range(STEPS)))


def _once(step: Callable[[], object], device: str) -> int:
    gc.collect()
    before = tf.config.experimental.get_memory_info(device)["current"]
    tf.config.experimental.reset_memory_stats(device)
    step()
    return max(0, int(tf.config.experimental.get_memory_info(device)["peak"]) - int(before))
