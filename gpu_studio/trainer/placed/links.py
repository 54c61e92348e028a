"""How fast tensors go from one device to another, measured: the same small program with tensors of two sizes."""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf

SMALL, LARGE = 1 << 20, 1 << 26
"""Bytes. The time that a transfer takes whatever its size falls out of their difference."""
REPETITIONS = 12
HANDED_OVER = 2e12
"""Bytes a second that no link reaches: what is faster was not copied but handed over by reference."""


def bandwidth(source: str, target: str) -> float | None:
    """Bytes a second from one logical device to another; None where nothing is copied."""
    small, large = (_seconds(source, target, size) for size in (SMALL, LARGE))
    rate = (LARGE - SMALL) / max(large - small, 1e-9)
    return None if rate >= HANDED_OVER else rate


def _seconds(source: str, target: str, size: int) -> float:
    """The least time in which a tensor of `size` bytes on `source` has come to `target`."""
    with tf.device(source):
        tensor = tf.fill((size // 4,), 1.0)
    across = tf.function(lambda x: _taken(x, target), autograph=False)
    across(tensor).numpy()
    return min(_once(across, tensor) for _ in range(REPETITIONS))


def _taken(tensor: Any, target: str) -> Any:
    """One number of the tensor, read on `target`: reading it waits for the whole of it."""
    with tf.device(target):
        return tf.identity(tensor)[:1]


def _once(across: Any, tensor: Any) -> float:
    begin = time.perf_counter()
    across(tensor).numpy()
    return time.perf_counter() - begin
