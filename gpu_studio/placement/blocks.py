"""What every block of neighbouring layers would cost as one stage, from prefix sums.

A table has shape (layers, layers): [j, w] is of the block of w + 1 layers that ends with layer j, that is of the layers
j - w … j. Where there are no such layers it is infinite. Short blocks stand side by side, so that a search that needs
only those reads only those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from gpu_studio.placement.work import Array, Work


def before(values: Array) -> Array:
    """For each block what `values` (layers,) says of the layer that it begins with: values[j - w]; a view."""
    size = len(values)
    return sliding_window_view(np.concatenate((np.full(size - 1, np.inf), values)), size)[:, ::-1]


def sums(values: Array) -> Array:
    """The sum of `values` (layers,) over each block."""
    prefix = np.concatenate(([0.0], np.cumsum(values)))
    return _where_blocks_are(prefix[1:, None] - before(prefix[:-1]))


def maxima(values: Array) -> Array:
    """The greatest of `values` (layers,), none of them negative, in each block."""
    table: Array = np.maximum.accumulate(before(values), axis=1)
    return table


def incoming(inputs: Sequence[Sequence[int]], sizes: Array) -> Array:
    """The bytes that enter each block from layers before it, where layer l hands on `sizes[l]` bytes.

    A tensor that several layers of a block need enters it once, also one that skips blocks on its way: TensorFlow sends
    each tensor once to each device that needs it.
    """
    size = len(inputs)
    # By the end of a block, from the second row on, and by its begin: what enters more than where it begins one layer
    # earlier and ends one earlier.
    entering = np.zeros((size + 1, size + 1))
    for producer, first, taker in _entries(inputs):
        entering[taker + 1, first] += sizes[producer]
        entering[taker + 1, taker + 1] -= sizes[producer]
    np.cumsum(entering, axis=1, out=entering)
    np.cumsum(entering, axis=0, out=entering)
    row, column = entering.strides
    return _where_blocks_are(as_strided(entering[1:], (size, size), (row + column, -column)).copy())


def incoming_of(work: Work) -> Array:
    """The bytes a sample that enter each block, one way."""
    return incoming(work.inputs, work.output_bytes)


def _entries(inputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """A layer, the first begin of the blocks that its output enters for a taker, and that taker, their last begin.

    A block that begins earlier has the layer itself, or a taker before, for which it has entered.
    """
    begins: dict[int, int] = {}
    for taker, producers in enumerate(inputs):
        for producer in dict.fromkeys(producers):
            yield producer, begins.get(producer, producer + 1), taker
            begins[producer] = taker + 1


def _where_blocks_are(table: Array) -> Array:
    """The table, infinite where a block would begin before the first layer."""
    corner = table[: table.shape[1] - 1]
    corner[np.arange(table.shape[1]) > np.arange(len(corner))[:, None]] = np.inf
    return table
