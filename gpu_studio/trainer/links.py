"""Measure how fast tensors travel between devices.

The same small program is timed with tensors of two sizes.
"""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf

SMALL = 1 << 20
LARGE = (1 << 27, 1 << 24)
"""Bytes. The time that a transfer takes whatever its size falls out of their difference. The second
is for slices that have no room for the first."""
REPETITIONS = 12
HANDED_OVER = 1e12
"""Bytes a second that no link reaches.

What is faster was not copied but handed over by reference.
"""


def bandwidth(source: str, target: str) -> float | None:
    """Return the bytes per second from one logical device to another.

    None where nothing is copied, or where there is no memory for it.
    """
    for size in LARGE:
        try:
            small, large = (_seconds(source, target, each) for each in (SMALL, size))
        except tf.errors.ResourceExhaustedError:
            continue
        rate = (size - SMALL) / max(large - small, 1e-9)
        return None if rate >= HANDED_OVER else rate
    return None


def _seconds(source: str, target: str, size: int) -> float:
    """Return the least time in which a tensor of `size` bytes travels from `source` to `target`."""
    with tf.device(source):
        tensor = tf.fill((size // 4,), 1.0)
    across = tf.function(lambda x: _taken(x, target), autograph=False)
    across(tensor).numpy()
    return min(_once(across, tensor) for _ in range(REPETITIONS))


def _taken(tensor: Any, target: str) -> Any:
    """One number of the tensor, read on `target`: the read waits for the whole tensor."""
    with tf.device(target):
        return tf.identity(tensor)[:1]


def _once(across: Any, tensor: Any) -> float:
    begin = time.perf_counter()
    across(tensor).numpy()
    return time.perf_counter() - begin
