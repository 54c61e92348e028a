"""What gradients of convolutions need on this CPU while they run, as foreseen and as counted.

Prints both in bytes, by name, as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import tensorflow as tf

from gpu_studio.trainer.answers import kernel_scratch

ROOM, SAMPLES = 256 << 20, 16
KINDS = {
    "a row": ((1, 60, 8), (1, 3, 8, 16)),
    "pictures": ((13, 13, 32), (3, 3, 32, 64)),
    "a large window": ((8, 8, 64), (7, 7, 64, 64)),
}
"""A sample's shape, and that of the filter."""
SAME = {"strides": [1] * 4, "padding": "SAME"}


def taken(shape: tuple[int, ...], window: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Make the images, the filter, and the gradient of what the convolution makes of them."""
    made = (SAMPLES, *shape[:2], window[-1])
    return tf.zeros((SAMPLES, *shape)), tf.zeros(window), tf.zeros(made)


def of_filter(image: Any, weights: Any, made: Any) -> Any:
    """The gradient of the filter."""
    return tf.raw_ops.Conv2DBackpropFilter(
        input=image, filter_sizes=weights.shape, out_backprop=made, **SAME
    )


def of_input(image: Any, weights: Any, made: Any) -> Any:
    """The gradient of the images."""
    return tf.raw_ops.Conv2DBackpropInput(
        input_sizes=image.shape, filter=weights, out_backprop=made, **SAME
    )


def held(run: Any, shape: tuple[int, ...], window: tuple[int, ...]) -> int:
    """Return the bytes that are given out while it runs, and are free when it has run."""
    given = taken(shape, window)
    tf.config.experimental.reset_memory_stats("CPU:0")
    made = run(*given)
    memory = tf.config.experimental.get_memory_info("CPU:0")
    del made
    return int(memory["peak"]) - int(memory["current"])


def foreseen(run: Any, shape: tuple[int, ...], window: tuple[int, ...]) -> int:
    """Return the bytes that are reckoned for the operation it makes."""
    with tf.Graph().as_default():
        return kernel_scratch.scratch_on_cpu(run(*taken(shape, window)).op, []).fixed


def main() -> None:
    """Measure both gradients of each kind of convolution."""
    tf.zeros((ROOM // 4,)).numpy()  # one region, of which everything later is a part
    found = {
        f"{of} of {name}": {"held": held(run, *shapes), "foreseen": foreseen(run, *shapes)}
        for name, shapes in KINDS.items()
        for of, run in (("filter", of_filter), ("input", of_input))
    }
    sys.stdout.write(json.dumps(found) + "\n")


main()
