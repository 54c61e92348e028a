"""Gradients where their layers are, over several micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


class Accumulation:
    """For each variable, on its device, the sum of its gradients of one micro-batch after the other.

    So many micro-batches are under way at once: what the next one computes waits for the first of them to be added.
    Activations are there of as many, and of a variable as many gradients and their sum, however many micro-batches
    there are. That bound is what 1F1B brings (Narayanan et al. 2019, "PipeDream", section 3.2); in which order the
    passes run the executor decides.
    """

    def __init__(self, variables: Sequence[Any], at_once: int) -> None:
        self._variables, self._at_once = variables, at_once
        self._sums: list[list[Any]] = []

    def next_input(self, x: Any) -> Any:
        """The samples `x` of the next micro-batch, which are not there before it may begin."""
        before = len(self._sums) - self._at_once
        if before < 0:
            return x
        # Grouped by device, so that each device tells that of the input once.
        with tf.control_dependencies([tf.group(*[each for each in self._sums[before] if each is not None])]):
            return tf.identity(x)

    def add(self, loss: Any) -> None:
        """Add the gradients of a micro-batch by its loss."""
        found = gradients_of(loss, self._variables)
        if self._sums:
            found = [_sum(*pair) for pair in zip(self._sums[-1], found, self._variables, strict=True)]
        self._sums.append(found)

    @property
    def whole(self) -> list[Any]:
        """The sum over all that were added."""
        return self._sums[-1]


def gradients_of(loss: Any, variables: Sequence[Any]) -> list[Any]:
    """The gradients of `loss` by Keras variables (None where there is none), each operation where its forward one is.

    A `GradientTape` would compute them all on the device of its own scope; this is the one way of TensorFlow's that
    colocates gradients. It works inside of a tf.function only.
    """
    storage = [variable.value for variable in variables]
    found: list[Any] = tf.compat.v1.gradients(loss, storage, colocate_gradients_with_ops=True, name="gradients")
    return found


def _sum(whole: Any, part: Any, variable: Any) -> Any:
    some = [each for each in (whole, part) if each is not None]
    if len(some) < 2:
        return some[0] if some else None
    with tf.device(variable.value.device):
        if all(isinstance(each, tf.IndexedSlices) for each in some):
            return _appended(some)
        return tf.add_n([tf.convert_to_tensor(each) for each in some])


def _appended(slices: Sequence[Any]) -> Any:
    """Sparse gradients of an embedding, one after another: rows that are there twice are added by the optimizer."""
    values = tf.concat([each.values for each in slices], axis=0)
    indices = tf.concat([each.indices for each in slices], axis=0)
    return tf.IndexedSlices(values, indices, slices[0].dense_shape)
