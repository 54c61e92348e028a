"""What products by Einstein's notation copy on this CPU, as foreseen and as counted.

Prints both in bytes, by equation, as JSON.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import tensorflow as tf

from gpu_studio.placement.liveness import Size
from gpu_studio.trainer.answers import kernel_scratch

LENGTHS = {"a": 8, "b": 32, "c": 4, "d": 16, "e": 64}
EQUATIONS = (
    "abcd,aecd->acbe",
    "aecd,abcd->acbe",
    "acbe,aecd->abcd",
    "acbe,abcd->aecd",
    "abc,acd->abd",
    "abe,acde->abcd",
    "ab,bcd->acd",
    "abcd->ab",
    "abcd->dcba",
)


def made(equation: str) -> tuple[Any, list[int]]:
    """The product, and the bytes of each tensor that it takes."""
    axes = equation.partition("->")[0].split(",")
    given = [tf.zeros([LENGTHS[name] for name in each]) for each in axes]
    sizes = [4 * int(each.shape.num_elements()) for each in given]
    if not tf.executing_eagerly():
        return tf.raw_ops.Einsum(inputs=given, equation=equation), sizes
    tf.config.experimental.reset_memory_stats("CPU:0")
    return tf.raw_ops.Einsum(inputs=given, equation=equation), sizes


def held(equation: str) -> int:
    """Return the bytes that are given out while it runs, and are free when it has run."""
    product, sizes = made(equation)
    memory = tf.config.experimental.get_memory_info("CPU:0")
    # The tensors that it took are free by now.
    del product
    return int(memory["peak"]) - int(memory["current"]) - sum(sizes)


def foreseen(equation: str) -> int:
    """Return the bytes that are reckoned for the operation."""
    with tf.Graph().as_default():
        product, sizes = made(equation)
        output = Size(4 * int(product.shape.num_elements()))
        return kernel_scratch.scratch_on_cpu(product.op, [*map(Size, sizes)], [output]).fixed


def main() -> None:
    """Measure each product."""
    gc.disable()  # what it frees between two counts would seem to have been the product's
    # One region, of which everything later is a part.
    tf.raw_ops.Empty(shape=(64 << 20,), dtype=tf.uint8)
    found = {each: {"held": held(each), "foreseen": foreseen(each)} for each in EQUATIONS}
    sys.stdout.write(json.dumps(found) + "\n")


main()
