"""What a card holds while each layer of a step is computed.

Which of the operations that become ready together comes first is chance. Several orders are looked
at, and the fullest moment counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from gpu_studio.placement.liveness import Operation, StepGraph, in_one_queue

ORDERS = 8
"""How many orders are drawn, besides that of the operations' numbers."""


@dataclass(slots=True)
class LayerHolds:
    """What is held on a card while a layer is computed, besides the batch, in bytes per sample.

    `passing` besides all that is kept; `around` besides what the layers before it keep, and
    `beside` the same while a kernel runs that needs `scratch`: bytes, whatever the batch.
    """

    passing: int = 0
    around: int = 0
    beside: int = 0
    scratch: int = 0

    def note(self, passing: int, around: int, scratch: int) -> None:
        """Count a moment."""
        self.passing = max(self.passing, passing)
        self.around = max(self.around, around)
        if scratch:
            self.beside = max(self.beside, around)
            self.scratch = max(self.scratch, scratch)


def held_around(
    step: StepGraph,
    operations: Sequence[Operation],
    layers: Sequence[str],
    keeping: Mapping[str, int],
) -> dict[str, LayerHolds]:
    """What is held while each layer's operations run; `layers` are those of the operations.

    What none made, such as the loss, runs where the layer before it does. `keeping` are the bytes a
    sample that each layer keeps, in order.
    """
    chance = Random(0)  # noqa: S311 (no secret: the same orders in every process)
    drawn = [in_one_queue(operations, chance) for _ in range(ORDERS)]
    before = dict(zip(keeping, accumulate(keeping.values(), initial=0), strict=False))
    found: dict[str, LayerHolds] = {}
    for turns in (in_one_queue(operations), *drawn):
        order = list(turns)
        layer = ""
        places = (turn.place for turn in order if turn.begins)
        for place, moment in zip(places, step.history(order).moments, strict=True):
            layer = layers[place] or layer
            scratch = operations[place].scratch
            held = moment.per_sample - step.given_per_sample
            found.setdefault(layer, LayerHolds()).note(
                held - moment.kept,
                held - min(moment.kept, before.get(layer, 0)),
                0 if scratch.per_sample else scratch.fixed,
            )
    return found
