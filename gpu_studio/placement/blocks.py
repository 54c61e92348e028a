"""Tables over all blocks of neighbouring layers, as candidates for a stage, from prefix sums.

A table has shape (layers + 1, layers + 1): entry [e, b] is for the block of layers b … e - 1, so
that a row holds the blocks with the same end. [b, b] is the empty block. Entries with b greater
than e are undefined. Tables need not be complete: a piece has some of the rows, and of these the
columns from `begin` on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gpu_studio.placement.work import Array, Work

AT_ONCE = 64
"""Rows of a table that are processed together: few enough to stay in the processor's cache."""


def before(values: Array) -> Array:
    """Prefix sums of `values` (layers,): the sum before each layer, and finally the total."""
    return np.concatenate(([0.0], np.cumsum(values)))


def pieces(layers: int) -> Iterator[range]:
    """The rows of a table, in groups that are processed together."""
    for first in range(0, layers + 1, AT_ONCE):
        yield range(first, min(layers + 1, first + AT_ONCE))


def sums(prefix: Array, ends: range, begin: int = 0) -> Array:
    """A piece of the table of sums over blocks, from the prefix sums that `before` returns."""
    return prefix[ends.start : ends.stop, None] - prefix[begin : ends.stop]


def maxima(values: Array, ends: range, begin: int = 0) -> Array:
    """A piece of the table of the maximum of the non-negative `values` (layers,) in each block."""
    # Put each layer into the row that ends with it, and all earlier ones into the first row: each
    # row then takes the maximum of the rows above it.
    last = np.broadcast_to(values[np.array(ends) - 1, None], (len(ends), ends.stop - begin))
    piece = np.tril(last, ends.start - begin - 1)
    piece[0, : ends.start - begin] = np.maximum.accumulate(values[begin : ends.start][::-1])[::-1]
    np.maximum.accumulate(piece, axis=0, out=piece)
    return piece


def entering(work: Work, sizes: Array) -> Array:
    """The table of the bytes that enter each block from other layers.

    Layer l outputs `sizes[l]` bytes. A tensor that several layers of a block need enters it once,
    even if it skips blocks on its way: TensorFlow sends each tensor once to each device that needs
    it. The output of a layer that is used in several places may come from behind.
    """
    layers = len(sizes)
    changes: list[list[tuple[int, int, float]]] = [[] for _ in range(layers + 2)]
    for producer, first, taker in _entries(work.inputs, from_behind=False):
        changes[taker + 1].append((first, taker + 1, float(sizes[producer])))
    last: dict[int, int] = {}
    for producer, first, taker in _entries(work.later, from_behind=True):
        changes[taker + 1].append((first, taker + 1, float(sizes[producer])))
        last[producer] = taker
    # A block that ends after the producer either contains it or begins after it.
    for producer, taker in last.items():
        changes[producer + 1].append((0, taker + 1, -float(sizes[producer])))
    table = np.zeros((layers + 1, layers + 1))
    row = np.zeros(layers + 1)
    for end in range(1, layers + 1):
        for first, stop, size in changes[end]:
            row[first:stop] += size
        table[end] = row
    return table


def _entries(
    inputs: Sequence[Sequence[int]], *, from_behind: bool
) -> Iterator[tuple[int, int, int]]:
    """Yield (producer, first, last): the output enters blocks that begin from `first` to `last`.

    `last` is the layer that takes it. A block that begins earlier contains the producer, or an
    earlier taker for which the output has already entered.
    """
    begins: dict[int, int] = {}
    for taker, producers in enumerate(inputs):
        for producer in dict.fromkeys(producers):
            yield producer, begins.get(producer, 0 if from_behind else producer + 1), taker
            begins[producer] = taker + 1
