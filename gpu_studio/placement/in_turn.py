"""The operations of several micro-batches that a card takes in turn, each forward and back.

The gradients are added up beside those of the next one, whose samples are sent ahead, so that more
is held than for one alone. Nothing is updated until the last one is back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_studio.placement.liveness import NOTHING, Operation

IN_TURN = "GPU:in turn"
"""The step of such a card, among those of a model (`ModelFacts.steps`)."""
TURNS = 3
"""So many micro-batches are rehearsed: with the second there is a sum, and meanwhile the third's
samples arrive."""


@dataclass(frozen=True, slots=True)
class InTurn:
    """The operations, and the numbers of the tensors that are received after the first batch.

    `sums` are those of the gradients, which are there in the end.
    """

    operations: list[Operation]
    received: frozenset[int]
    sums: list[int]


def in_turn(
    operations: Sequence[Operation], gradients: frozenset[int], batch: frozenset[int]
) -> InTurn:
    """Forward and backward operations of `TURNS` micro-batches, of which each brings its `batch`.

    One begins when the gradients of the one before are there; what it takes is sent ahead.
    """
    sizes = {tensor: size for each in operations for tensor, size in each.makes}
    makers = {tensor: place for place, each in enumerate(operations) for tensor, _ in each.makes}
    passes = operations[: 1 + max((makers[each] for each in gradients), default=len(operations))]
    sent = {tensor for tensor in batch if sizes.get(tensor, NOTHING) != NOTHING}
    span = 1 + max(sizes, default=0) - min(sizes, default=0)
    found: list[Operation] = []
    sums: list[int] = []
    for turn in range(TURNS):
        begin = len(found)
        gates = [begin - 1, begin - 1 - begin // max(1, turn)]  # the ends of the turns before
        for each in passes:
            gate = gates[any(tensor in sent for tensor, _ in each.makes)]
            enters = not each.takes or not sent.isdisjoint(each.takes)
            found.append(_moved(each, turn * span, begin, (gate,) if enters and gate >= 0 else ()))
        before, sums = sums, [TURNS * span + len(found) + each for each in range(len(gradients))]
        for number, tensor in enumerate(sorted(gradients)):
            both = (tensor + turn * span, *before[number : number + 1])
            made = ((sums[number], sizes[tensor]),)
            found.append(Operation(both, made, shares=not turn, overwrites=True))
        found.append(Operation(after=tuple(range(begin + max(0, len(passes) - 1), len(found)))))
    received = frozenset(tensor + turn * span for turn in range(1, TURNS) for tensor in batch)
    return InTurn(found, received, sums)


def _moved(operation: Operation, tensors: int, places: int, waits: tuple[int, ...]) -> Operation:
    """The same operation in a later turn, where numbers are so much larger; it `waits` for some."""
    return replace(
        operation,
        takes=tuple(tensor + tensors for tensor in operation.takes),
        makes=tuple((tensor + tensors, size) for tensor, size in operation.makes),
        after=(*(place + places for place in operation.after), *waits),
    )
