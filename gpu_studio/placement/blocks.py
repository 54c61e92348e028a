"""What every block of neighbouring layers would cost as one stage, from prefix sums.

A table has shape (layers, layers): [j, w] is of the block of w + 1 layers that ends with layer j, that is of the layers
j - w … j. Where there are no such layers it is infinite. Short blocks stand side by side, so that a search that needs
only those reads only those.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpu_studio.placement.work import Array, Work


def before(values: Array) -> Array:
    """For each block what `values` (layers + 1) says of the layer that it begins with: values[j - w]."""
    size = len(values) - 1
    padded = np.concatenate((np.full(size - 1, np.inf), values[:size]))
    return sliding_window_view(padded, size)[:, ::-1]


def sums(values: Array) -> Array:
    """The sum of `values` (layers,) over each block."""
    prefix = np.concatenate(([0.0], np.cumsum(values)))
    begins = before(prefix)
    return np.where(np.isfinite(begins), prefix[1:, None] - begins, np.inf)


def incoming(inputs: Sequence[Sequence[int]], crossing: Array) -> Array:
    """The bytes that enter each block from layers before it, where layer l hands on `crossing[l]` bytes.

    A tensor that several layers of a block need enters it once, also one that skips blocks on its way: TensorFlow sends
    each tensor once to each device that needs it.
    """
    size = len(inputs)
    added = np.zeros((size, size))
    for producer, consumers in enumerate(_consumers(inputs)):
        for begin in range(producer + 1, consumers[-1] + 1 if consumers else 0):
            added[begin, consumers[bisect_left(consumers, begin)]] += crossing[producer]
    entering = np.cumsum(added, axis=1)
    ends, longer = np.indices((size, size))
    return np.where(longer <= ends, entering[np.maximum(ends - longer, 0), ends], np.inf)


def incoming_of(work: Work) -> Array:
    """The bytes that enter each block in a whole step, their gradients counted too."""
    return incoming(work.inputs, work.crossing_bytes)


def _consumers(inputs: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each layer the places of those that take its output, in order."""
    consumers: list[list[int]] = [[] for _ in inputs]
    for layer, producers in enumerate(inputs):
        for producer in dict.fromkeys(producers):
            consumers[producer].append(layer)
    return consumers
