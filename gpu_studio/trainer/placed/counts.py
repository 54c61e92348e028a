"""How much of a whole batch counts in a loss that is masked, for each of its micro-batches.

The loss is the mean over what counts in all of them, and the first one's gradients are computed
before the last one's outputs are there. So it is counted by the targets and the weights alone, of
all micro-batches. What a layer masks is not known by these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from gpu_studio.plan.strategies.placed import MASKED_IN_PARTS
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects import Objective
from gpu_studio.trainer.keras_objects.objective import Judged

_OF_SHAPES = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")
"""Operations that do not ask for the values of what they are given."""


class Counts:
    """What counts in a batch, of which each part is (x, targets, sample weights, weight)."""

    def __init__(self, loss: Objective, parts: Sequence[Any]) -> None:
        self._loss, self._parts = loss, parts
        self._found: dict[int, Any] = {}

    def of(self, judged: Judged) -> Any:
        """Return how much of the batch counts for a head, a scalar. Raises PlanRefused."""
        head = id(judged.head)
        if head not in self._found:
            self._found[head] = tf.add_n([self._in_part(judged, part) for part in self._parts])
        return self._found[head]

    def _in_part(self, judged: Judged, part: Any) -> Any:
        _, y, sample_weight, weight = part
        outputs = judged.outputs
        if hasattr(outputs, "_keras_mask") or _needs_values(judged.counted, outputs):
            raise PlanRefused(
                MASKED_IN_PARTS,
                ["Set distribution.placed.micro_batches to 1.", "Or leave out the mask."],
            )
        target, weights = self._loss.of_head(judged.head, y, sample_weight)
        shape = tf.concat([tf.shape(target)[:1], tf.shape(outputs)[1:]], axis=0)
        unknown = tf.ensure_shape(tf.zeros(shape, outputs.dtype), [None, *outputs.shape[1:]])
        return tf.reduce_sum(weight * judged.head.loss.judged(target, unknown, weights)[1])


def _needs_values(tensor: Any, of: Any) -> bool:
    """Whether the values of `of` are needed to compute a tensor of the same graph."""
    waiting, seen = [tensor.op], set()
    while waiting:
        op = waiting.pop()
        if op is of.op:
            return True
        if op.name not in seen and op.type not in _OF_SHAPES:
            seen.add(op.name)
            waiting += [each.op for each in op.inputs]
    return False
