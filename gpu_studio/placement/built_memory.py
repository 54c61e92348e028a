"""The memory of a device as building the model leaves it, which its steps find.

Where its pieces lie decides how much of it steps waste, so that what Keras does is done here too,
tensor by tensor; seen in the allocator's own events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_studio.placement.arena import Arena, given_for, requested
from gpu_studio.placement.liveness import (
    MemoryHistory,
    Operation,
    Variable,
    block_of,
    history,
    in_one_queue,
)
from gpu_studio.placement.step_memory import UNIT

LOOKED_AT = 8
"""Samples with which a run calls the model while building it, to see its output. They are fewer
where a step trains fewer at once."""
A_LITTLE = 0.02
"""The share of memory by which what building fills may differ: constants of Keras, for instance."""
FAR = 2**40
"""Larger than the numbers of all blocks of variables and of a step."""
_SEED, _MIXED, _STATE, _KEY, _COUNTER, _RAW, _RANGE, _SCALED = range(8)
"""The tensors with which a weight is drawn (`keras.random`, StatelessRandomUniformV2)."""


def built(
    operations: Sequence[Operation], look: MemoryHistory, samples: int, *, loaded: bool
) -> Arena:
    """The memory of a CPU as building the model leaves it.

    The weights come first, matrices being drawn at random; those that are `loaded` are then
    replaced. The model is called once to `look` at its output, with so many samples; the
    optimizer's slots come last.
    """
    arena, variables = Arena(), variables_of(operations)
    weights = [number for number in variables if number in look.seen]
    bounds: set[int] = set()
    for number in weights:
        _make(arena, variables[number], bounds)
    for number in weights if loaded else ():
        arena.take(0, variables[number].bytes)
        arena.replace(block_of(number), 0)
    called = requested(look)
    arena.peak(called, called.units(samples))
    for number in (number for number in variables if number not in look.seen):
        arena.take(block_of(number), variables[number].bytes)
    return arena


def either_way(arena: Arena) -> list[Arena]:
    """The memory as building the model leaves it, and otherwise if a little more or less decides.

    Where building has filled all regions but for a little, or needed the last one for little, a
    tensor of some bytes may have made the difference, and with it where all of a step lies.
    """
    more, less, arenas = arena.copy(), arena.copy(), [arena]
    if arena.most > arena.end * (1 - A_LITTLE):
        more.add_region()
        arenas.append(more)
    if less.drop_region() and arena.most < less.end * (1 + A_LITTLE):
        arenas.append(less)
    return arenas


def lost_on_card(operations: Sequence[Operation]) -> int:
    """The bytes that a card gives out for the variables beyond their size."""
    variables = variables_of(operations).values()
    bounds = {each.bytes for each in variables if each.drawn}
    return 2 * UNIT * len(bounds) + sum(given_for(each.bytes) - each.bytes for each in variables)


def _make(arena: Arena, weight: Variable, bounds: set[int]) -> None:
    """Create a weight, filled or drawn.

    Small tensors are created too: whether a gap of about two weights is cut in two depends on them.
    `bounds` are the sizes of the weights drawn so far: the bounds between which one is drawn stay
    as constants, which those of its size share.
    """
    if not weight.drawn:
        arena.take(block_of(weight.number), weight.bytes)
        return
    arena.take(_SEED, UNIT)
    arena.take(_MIXED, UNIT)
    arena.give_back(_SEED)
    arena.take(_SEED, UNIT)
    arena.take(_STATE, UNIT)
    arena.give_back(_SEED)
    arena.give_back(_MIXED)
    if weight.bytes not in bounds:
        for constant in (2 * len(bounds), 2 * len(bounds) + 1):
            arena.take(FAR + constant, UNIT)
        bounds.add(weight.bytes)
    arena.take(_KEY, UNIT)
    arena.take(_COUNTER, UNIT)
    arena.take(_RAW, weight.bytes)
    arena.take(_RANGE, UNIT)
    arena.take(_SCALED, weight.bytes)
    arena.give_back(_RANGE)
    arena.take(block_of(weight.number), weight.bytes)
    for each in (_SCALED, _KEY, _COUNTER, _RAW, _STATE):
        arena.give_back(each)


def looked(operations: Sequence[Operation], outputs: Sequence[int]) -> MemoryHistory:
    """What calling the model holds: all `outputs` of its layers, until the call ends.

    It is called operation by operation, outside of a graph: none overwrites what another made.
    """
    makers = {tensor: place for place, each in enumerate(operations) for tensor, _ in each.makes}
    waiting, needed = [makers[tensor] for tensor in outputs], set[int]()
    while waiting:
        place = waiting.pop()
        if place not in needed:
            needed.add(place)
            waiting += [makers[tensor] for tensor in operations[place].takes]
    called = [replace(operations[place], after=(), overwrites=False) for place in sorted(needed)]
    return history(called, in_one_queue(called), results=outputs)


def variables_of(operations: Sequence[Operation]) -> dict[int, Variable]:
    """The variables that the operations read or change, by number."""
    return {each.number: each for op in operations for each in (op.reads, op.writes) if each}
