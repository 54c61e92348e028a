"""What gradients of convolutions need on this CPU while they run, as foreseen and as counted.

Prints both in bytes, by name, as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import tensorflow as tf

from gpu_studio.trainer.answers import kernel_scratch
from gpu_studio.trainer.answers.last_cache import last_cache_bytes

SAMPLES = 16
ALONE = "one volume"
ROOM = (256 << 20) + 3 * last_cache_bytes()
KINDS = {
    "a row": ((1, 60, 8), (1, 3, 8, 16)),
    "pictures": ((13, 13, 32), (3, 3, 32, 64)),
    "a large window": ((8, 8, 64), (7, 7, 64, 64)),
    "volumes": ((16, 16, 16, 24), (1, 1, 1, 24, 24)),
    "small volumes": ((4, 4, 4, 4), (3, 3, 3, 4, 4)),
    ALONE: ((16, 16, 16, 8), (3, 3, 3, 8, 8)),
}
"""A sample's shape, and that of the filter."""
Shapes = tuple[tuple[int, ...], tuple[int, ...]]


def taken(samples: int, shape: tuple[int, ...], window: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Make the images, the filter, and the gradient of what the convolution makes of them."""
    made = (samples, *shape[:-1], window[-1])
    return tf.zeros((samples, *shape)), tf.zeros(window), tf.zeros(made)


def same(image: Any) -> dict[str, Any]:
    """How the window moves over images or volumes."""
    return {"strides": [1] * image.shape.rank, "padding": "SAME"}


def of_filter(image: Any, weights: Any, made: Any) -> Any:
    """The gradient of the filter."""
    raw = tf.raw_ops
    run = raw.Conv2DBackpropFilter if image.shape.rank == 4 else raw.Conv3DBackpropFilterV2
    return run(input=image, filter_sizes=weights.shape, out_backprop=made, **same(image))


def of_input(image: Any, weights: Any, made: Any) -> Any:
    """The gradient of the images."""
    raw = tf.raw_ops
    run = raw.Conv2DBackpropInput if image.shape.rank == 4 else raw.Conv3DBackpropInputV2
    return run(input_sizes=image.shape, filter=weights, out_backprop=made, **same(image))


def held(run: Any, samples: int, shapes: Shapes) -> int:
    """Return the bytes that are given out while it runs, and are free when it has run."""
    given = taken(samples, *shapes)
    tf.config.experimental.reset_memory_stats("CPU:0")
    made = run(*given)
    memory = tf.config.experimental.get_memory_info("CPU:0")
    del made
    return int(memory["peak"]) - int(memory["current"])


def foreseen(run: Any, samples: int, shapes: Shapes) -> int:
    """Return the bytes that are reckoned for the operation it makes."""
    with tf.Graph().as_default():
        needed = kernel_scratch.scratch_on_cpu(run(*taken(SAMPLES, *shapes)).op, [], [])
        return needed.bytes(samples)


def main() -> None:
    """Measure both gradients of each kind of convolution."""
    # One region, of which everything later is a part.
    tf.raw_ops.Empty(shape=(ROOM,), dtype=tf.uint8)
    found = {}
    for name, shapes in KINDS.items():
        samples = 1 if name == ALONE else SAMPLES
        for of, run in (("filter", of_filter), ("input", of_input)):
            both = {each.__name__: each(run, samples, shapes) for each in (held, foreseen)}
            found[f"{of} of {name}"] = both
    sys.stdout.write(json.dumps(found) + "\n")


main()
