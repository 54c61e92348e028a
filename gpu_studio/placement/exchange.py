"""The operations of a step on one of several cards that sum their gradients on one device.

The first card may do so: it receives the gradients of all others, adds them up, and sends the sums
back (`ReductionToOneDevice`). What is received arrives in a thread of its own, which goes on with
the update: it may run beside the way back of other layers. Or one device has all variables
(central storage): then each card is sent their values, and changes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_studio.placement.liveness import Operation, Size

SENDING, GATHERING, READING = "GPU:sending", "GPU:gathering", "GPU:reading"
"""The steps of such cards, among those of a model (`ModelFacts.steps`)."""
GATHERED = 4
"""The replicas of a step that gathers gradients. With others the gradients of each count alike."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The operations of a step, and the numbers of the tensors that are received in it."""

    operations: list[Operation]
    received: frozenset[int]


def sending(operations: Sequence[Operation], gradients: frozenset[int]) -> Exchange:
    """The step on a card that sends its gradients and receives their sums."""
    return _exchanged(operations, gradients, 0)


def gathering(operations: Sequence[Operation], gradients: frozenset[int]) -> Exchange:
    """The step on the card that receives the gradients of `GATHERED - 1` others."""
    return _exchanged(operations, gradients, GATHERED - 1)


def reading(operations: Sequence[Operation], gradients: frozenset[int]) -> Exchange:
    """The step on a card that has no variables: it is sent their values, and sends gradients.

    The `operations` are those of such a card (`Graph.with_weights_sent`). It changes no variable.
    """
    made = [
        place for place, each in enumerate(operations) if gradients & {x for x, _ in each.makes}
    ]
    here = [replace(each, writes=None) for each in operations[: 1 + max(made, default=-1)]]
    sent = (Operation(takes=(x,)) for each in here for x, _ in each.makes if x in gradients)
    return Exchange([*here, *sent], frozenset())


def _exchanged(operations: Sequence[Operation], gradients: frozenset[int], others: int) -> Exchange:
    sizes = {
        tensor: (place, size)
        for place, each in enumerate(operations)
        for tensor, size in each.makes
        if tensor in gradients
    }
    last = tuple({place for place, _ in sizes.values()})
    back = max(last, default=0)  # what comes later updates; others may take a gradient on their way
    added: list[Operation] = []
    sums: dict[int, int] = {}
    received: set[int] = set()
    number = 1 + max((tensor for each in operations for tensor, _ in each.makes), default=0)
    for gradient, (_, size) in sizes.items():
        arrived, total = range(number, number + max(1, others)), number + others
        received.update(arrived)
        sums[gradient], number = total, total + 1
        added += (
            _summed(gradient, arrived, total, size, last)
            if others
            else _sent(gradient, total, size, len(operations) + len(added))
        )
    updating = [
        replace(each, takes=tuple(sums.get(tensor, tensor) for tensor in each.takes))
        if place > back
        else each
        for place, each in enumerate(operations)
    ]
    return Exchange([*updating, *added], frozenset(received))


def _sent(gradient: int, arrived: int, size: Size, place: int) -> list[Operation]:
    """What sends a gradient as operation number `place`, and what receives the sum after it."""
    return [Operation(takes=(gradient,)), Operation(makes=((arrived, size),), after=(place,))]


def _summed(
    gradient: int, arrived: Sequence[int], total: int, size: Size, last: tuple[int, ...]
) -> list[Operation]:
    """What receives the gradients of the others, adds them up, and sends the sum.

    What a received tensor makes ready waits for a free thread. The steps of the replicas keep all
    of them busy where cores are few, so that nothing may be summed until the `last` gradient is
    there.
    """
    return [
        *(Operation(makes=((each, size),)) for each in arrived),
        Operation((gradient, *arrived), ((total, size),), last, overwrites=True),
        Operation(takes=(total,)),
    ]
