"""Tables over all blocks of neighbouring layers, as candidates for a stage.

A table has shape (layers + 1, layers + 1): entry [e, b] is for the block of layers b … e - 1,
so that a row holds the blocks with the same end. [b, b] is the empty block. Entries with b
greater than e are undefined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from gpu_studio.placement.work import Array, Work

AT_ONCE = 64
"""Rows of a table that are processed together: few enough to stay in the processor's cache."""


def before(values: Array) -> Array:
    """Prefix sums of `values` (layers,): the sum before each layer, and finally the total."""
    return np.concatenate(([0.0], np.cumsum(values)))


def groups(layers: int) -> Iterator[slice]:
    """The rows of a table, in groups that are processed together."""
    for first in range(0, layers + 1, AT_ONCE):
        yield slice(first, min(layers + 1, first + AT_ONCE))


def maxima(values: Array) -> Array:
    """The table of the maximum of the non-negative `values` (layers,) in each block."""
    # Put each layer into the row that ends with it: each row takes the maximum of those above it.
    layers = len(values)
    last = np.broadcast_to(np.append(0.0, values)[:, None], (layers + 1, layers + 1))
    table = np.tril(last, -1)
    np.maximum.accumulate(table, axis=0, out=table)
    return table


Area = tuple[int, int, int, int, float]
"""The rows and columns of a table, each from and to before which, and their bytes."""
Through = Sequence[Sequence[tuple[int, int]]]
"""For each layer what it takes through layers that pass it on: the maker, and the first of them."""


def entering(
    work: Work,
    sizes: Array,
    through: Through = (),
    meets: Sequence[Mapping[int, int]] = (),
    met: Sequence[Sequence[int]] = (),
) -> Array:
    """The table of the bytes that enter each block from other layers.

    Layer l outputs `sizes[l]` bytes. What `meets` another one enters with it, except a block that
    contains the other. A tensor that several layers of a block need enters it once,
    even if it skips blocks on its way: TensorFlow sends each tensor once to each device that needs
    it. The output of a layer that is used in several places may come from behind, as may one of
    those that are `met` by each layer's.
    """
    return _summed(len(sizes), (each for _, each in entries(work, sizes, through, meets, met)))


def entries(
    work: Work,
    sizes: Array,
    through: Through = (),
    meets: Sequence[Mapping[int, int]] = (),
    met: Sequence[Sequence[int]] = (),
) -> list[tuple[int, Area]]:
    """The areas that `entering` adds up, each with the layer whose output it is."""
    layers = len(sizes)
    none: Sequence[tuple[()]] = ((),) * layers
    through, later = list(through or none), list(work.later or none)
    for here, others in enumerate(met):
        through[here] = (*through[here], *((each, here) for each in others if each < here))
        later[here] = (*later[here], *(each for each in others if each > here))
    end, of = layers + 1, sizes.tolist()
    areas: list[tuple[int, Area]] = [
        (producer, (taker + 1, end, first, here + 1, of[producer]))
        for producer, first, here, taker in _entries(work.inputs, through, meets, from_behind=False)
    ]
    last: dict[int, int] = {}
    for producer, first, _, taker in _entries(later, (), (), from_behind=True):
        areas.append((producer, (taker + 1, end, first, taker + 1, of[producer])))
        last[producer] = taker
    # A block that ends after the producer either contains it or begins after it.
    areas += [
        (producer, (producer + 1, end, 0, taker + 1, -of[producer]))
        for producer, taker in last.items()
    ]
    return areas


def largest(layers: int, areas: Iterable[tuple[int, Area]]) -> Array:
    """The table of the most that the areas of one producer add up to in each block."""
    of: dict[int, list[Area]] = {}
    for producer, area in areas:
        of.setdefault(producer, []).append(area)
    table = np.zeros((layers + 1, layers + 1))
    for some in of.values():
        above = min(top for top, *_ in some)
        rows = np.zeros((layers + 1 - above, layers + 1))
        for top, bottom, left, right, size in some:
            rows[top - above : bottom - above, left:right] += size
        np.maximum(table[above:], rows, out=table[above:])
    return table


def _summed(layers: int, areas: Iterable[Area]) -> Array:
    """The table in which each area of rows and columns (from, to before) has so many bytes more.

    Bytes are whole numbers, of which no sum is rounded: an area that ends is taken away again.
    """
    changes: list[list[tuple[int, int, float]]] = [[] for _ in range(layers + 2)]
    for top, bottom, left, right, size in areas:
        if top < bottom and left < right and size:
            changes[top].append((left, right, size))
            changes[bottom].append((left, right, -size))
    table, row = np.empty((layers + 1, layers + 1)), np.zeros(layers + 1)
    for place in range(layers + 1):
        for left, right, size in changes[place]:
            row[left:right] += size
        table[place] = row
    return table


def _entries(
    inputs: Sequence[Sequence[int]],
    through: Through,
    meets: Sequence[Mapping[int, int]],
    *,
    from_behind: bool,
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (producer, first, last, taker): it enters blocks that begin from `first` to `last`.

    They end with `taker` or later, which takes it, and `last` is the same unless it is passed on
    or meets another one. A block that begins earlier contains the producer, or an earlier taker for
    which the output has already entered.
    """
    begins: dict[int, int] = {}
    for taker, producers in enumerate(inputs):
        met = meets[taker] if meets else {}
        direct = ((producer, met.get(producer, taker)) for producer in dict.fromkeys(producers))
        for producer, last in (*direct, *(through[taker] if through else ())):
            first = begins.get(producer, 0 if from_behind else producer + 1)
            if first <= last:
                yield producer, first, last, taker
                begins[producer] = last + 1


def passed_through(work: Work) -> Through:
    """What each layer whose backward pass needs it takes through others that pass it on.

    Those keep nothing, although it is needed behind them: it is the memory of the one they take.
    """
    later = work.later or ((),) * len(work.inputs)
    every = [(*some, *others) for some, others in zip(work.inputs, later, strict=True)]
    passing_on = [
        len(some) == 1 and not kept for some, kept in zip(every, work.kept_bytes, strict=True)
    ]
    before: list[list[tuple[int, int]]] = []
    for producers in work.inputs:
        found = []
        for via in producers:
            if passing_on[via]:
                found += [(each, via) for each in work.inputs[via]]
                found += [(each, first) for each, first in before[via]]
        before.append(found)
    return [each if keeps else [] for each, keeps in zip(before, work.keeps_inputs, strict=True)]


def leaving(work: Work, sizes: Array, *, further: bool = False, alone: bool = False) -> Array:
    """The table of the bytes that each block makes for layers elsewhere; sizes as in `entering`.

    With `further` only what others need than the first layer behind the block; `alone` only what
    no layer of the block takes.
    """
    layers = len(sizes)
    last, first = _last_and_first(work, (work.inputs, work.later, work.met()))
    behind, ahead = _nearest(work) if alone else ([layers] * layers, [-1] * layers)
    areas = []
    for producer, size in enumerate(sizes.tolist()):
        here, taken = producer + 1, ahead[producer] + 1
        stop, end = max(here, last[producer] + (not further)), behind[producer] + 1
        areas.append((here, min(stop, end), taken, here, size))
        areas.append((stop, end, max(first[producer] + 1, taken), here, size))
    return _summed(layers, areas)


def _last_and_first(
    work: Work, takes: Sequence[Sequence[Sequence[int]]]
) -> tuple[list[int], list[int]]:
    """The last and the first layer that takes the output of each, or itself."""
    last, first = list(range(len(work.inputs))), list(range(len(work.inputs)))
    for inputs in takes:
        for taker, producers in enumerate(inputs):
            for producer in producers:
                last[producer] = max(last[producer], taker)
                first[producer] = min(first[producer], taker)
    return last, first


def _nearest(work: Work) -> tuple[list[int], list[int]]:
    """The nearest layers behind and ahead of each that take its output."""
    layers = len(work.inputs)
    behind, ahead = [layers] * layers, [-1] * layers
    for inputs in (work.inputs, work.later):
        for taker, producers in enumerate(inputs):
            for producer in producers:
                if taker > producer:
                    behind[producer] = min(behind[producer], taker)
                else:
                    ahead[producer] = max(ahead[producer], taker)
    return behind, ahead


def lending(work: Work) -> Array:
    """The table of the bytes that each block keeps only for layers elsewhere, which have copies."""
    behind, ahead = _nearest(work)
    return _summed(
        len(behind),
        (
            (producer + 1, behind[producer] + 1, ahead[producer] + 1, producer + 1, size)
            for producer, size in enumerate(work.lent_bytes.tolist())
        ),
    )


def on_the_way(work: Work, brief: Array) -> Array:
    """The table of what a micro-batch holds at most on its way forward beyond what blocks keep.

    When a layer is computed, there is what it does not keep, and what comes for those behind it and
    is not kept, and not what these keep.
    """
    kept, places = before(work.kept_bytes), np.arange(len(brief))
    ahead = work.forward_bytes[:, None] if len(work.forward_bytes) else 0.0
    held = np.full_like(brief, -np.inf)
    let_go = work.let_go_bytes[:, None] if len(work.let_go_bytes) else 0.0
    gone = brief[:-1] + np.where(brief[1:] > brief[:-1], let_go, 0.0)
    gone = np.minimum(gone, brief[1:] - ahead)
    begun = np.where(places[:-1, None] >= places, kept[1:, None] - gone, -np.inf)
    held[1:] = np.maximum.accumulate(begun)
    return np.maximum(0.0, brief + held - kept[:, None])


def on_the_way_unkept(work: Work) -> Array:
    """The same where nothing is kept but what enters: blocks are computed again on the way back."""
    layers, sizes = len(work.inputs), work.output_bytes
    makes = np.maximum(sizes, work.made_bytes) if len(work.made_bytes) else sizes
    last = np.full(layers, -1)
    for place, some in enumerate(work.inputs):
        last[list(some)] = place
    held = np.full((layers + 1, layers + 1), -np.inf)
    for place in range(layers):
        there = np.where(last[:place] >= place, sizes[:place], 0.0)
        held[place + 1, : place + 1] = makes[place] + np.append(np.cumsum(there[::-1])[::-1], 0.0)
    return np.asarray(np.maximum(0.0, np.maximum.accumulate(held)), np.float64)


def coming(work: Work) -> Array:
    """The table of the gradients that come for each layer of the blocks that end with each row.

    Entry [e, l] is that for layer l, if another one takes its output that is not before layer e;
    where an earlier one takes it, too, it comes in any case.
    """
    layers = len(work.inputs)
    table = np.zeros((layers + 1, layers))
    for inputs in (work.inputs, work.later):
        for taker, producers in enumerate(inputs):
            for producer in producers:
                rows = slice(producer + 1, taker + 1 if taker > producer else None)
                table[rows, producer] = work.output_bytes[producer]
    return table


def outliving(work: Work) -> Array:
    """The table of whether what comes for a layer may outlive its use; entries as in `coming`.

    It is 1 where no later layer of the block takes its output as well, and else 0.
    """
    layers = len(work.inputs)
    nearest, _ = _nearest(work)
    alone = np.arange(layers + 1)[:, None] <= np.array(nearest, np.int64)
    return np.asarray((coming(work) > 0) & alone, np.float64)


def returned_once(work: Work) -> Array:
    """The table of what comes back once of what enters each block twice: see `Work.sums`."""
    layers, areas = len(work.inputs), []
    for size, one, other, taker in work.sums:
        others = [
            place
            for place, some in enumerate(work.inputs)
            if place != taker and not {one, other}.isdisjoint(some)
        ]
        begin = 1 + max((one, other, *(each for each in others if each < taker)))
        end = min((layers, *(each for each in others if each > taker)))
        areas.append((taker + 1, end + 1, begin, taker + 1, size))
    return _summed(layers, areas)
