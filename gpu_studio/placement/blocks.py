"""What there is to say of every block of neighbouring layers as one stage, from prefix sums.

A table has shape (layers + 1, layers + 1): [e, b] is of the block of layers b … e - 1, so that a row has the blocks
with one end side by side. [b, b] is the block of no layers. Where b is greater than e there is no block, and nothing is
to be read. Tables need not be made whole: a piece has some of the rows, and of these the columns from `begin` on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gpu_studio.placement.work import Array, Work

AT_ONCE = 64
"""So many rows of a table are worked on together: few enough to stay in the processor's cache."""


def before(values: Array) -> Array:
    """The sum of `values` (layers,) of the layers before each, and of all of them last."""
    return np.concatenate(([0.0], np.cumsum(values)))


def pieces(layers: int) -> Iterator[range]:
    """The rows of a table, so many together as are worked on at once."""
    for first in range(0, layers + 1, AT_ONCE):
        yield range(first, min(layers + 1, first + AT_ONCE))


def sums(prefix: Array, ends: range, begin: int = 0) -> Array:
    """A piece of the table of sums over blocks, from what `before` gives."""
    return prefix[ends.start : ends.stop, None] - prefix[begin : ends.stop]


def maxima(values: Array, ends: range, begin: int = 0) -> Array:
    """A piece of the table of the greatest of `values` (layers,), none of them negative, in each block."""
    # Each layer in the blocks that end with it, and in the first row all before: a row has what those above it have.
    last = np.broadcast_to(values[np.array(ends) - 1, None], (len(ends), ends.stop - begin))
    piece = np.tril(last, ends.start - begin - 1)
    piece[0, : ends.start - begin] = np.maximum.accumulate(values[begin : ends.start][::-1])[::-1]
    np.maximum.accumulate(piece, axis=0, out=piece)
    return piece


def entering(work: Work, sizes: Array) -> Array:
    """The table of the bytes that enter each block from other layers, where layer l hands on `sizes[l]` bytes.

    A tensor that several layers of a block need enters it once, also one that skips blocks on its way: TensorFlow sends
    each tensor once to each device that needs it. Of a layer that is used in several places it may come from behind.
    """
    layers = len(sizes)
    changes: list[list[tuple[int, int, float]]] = [[] for _ in range(layers + 2)]
    for producer, first, taker in _entries(work.inputs, from_behind=False):
        changes[taker + 1].append((first, taker + 1, float(sizes[producer])))
    last: dict[int, int] = {}
    for producer, first, taker in _entries(work.later, from_behind=True):
        changes[taker + 1].append((first, taker + 1, float(sizes[producer])))
        last[producer] = taker
    # A block that ends behind the producer has it, or begins behind it.
    for producer, taker in last.items():
        changes[producer + 1].append((0, taker + 1, -float(sizes[producer])))
    table = np.zeros((layers + 1, layers + 1))
    row = np.zeros(layers + 1)
    for end in range(1, layers + 1):
        for first, stop, size in changes[end]:
            row[first:stop] += size
        table[end] = row
    return table


def _entries(inputs: Sequence[Sequence[int]], *, from_behind: bool) -> Iterator[tuple[int, int, int]]:
    """A layer, the first begin of the blocks that its output enters for a taker, and that taker, their last begin.

    A block that begins earlier has the layer itself, or a taker before, for which it has entered.
    """
    begins: dict[int, int] = {}
    for taker, producers in enumerate(inputs):
        for producer in dict.fromkeys(producers):
            yield producer, begins.get(producer, 0 if from_behind else producer + 1), taker
            begins[producer] = taker + 1
