"""Gradients where their layers are, over several micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def gradients_of(loss: Any, variables: Sequence[Any]) -> list[Any]:
    """The gradients of `loss` by Keras variables (None where there is none), each operation where its forward one is.

    A `GradientTape` would compute them all on the device of its own scope; this is the one way of TensorFlow's that
    colocates gradients. It works inside of a tf.function only.
    """
    storage = [variable.value for variable in variables]
    found: list[Any] = tf.compat.v1.gradients(loss, storage, colocate_gradients_with_ops=True, name="gradients")
    return found


def summed(per_part: Sequence[Sequence[Any]], variables: Sequence[Any]) -> list[Any]:
    """For each variable the sum of its gradients of all micro-batches, on the variable's device."""
    return [_sum(parts, variable) for variable, *parts in zip(variables, *per_part, strict=True)]


def _sum(parts: Sequence[Any], variable: Any) -> Any:
    some = [part for part in parts if part is not None]
    if len(some) < 2:
        return some[0] if some else None
    with tf.device(variable.value.device):
        if all(isinstance(part, tf.IndexedSlices) for part in some):
            return _appended(some)
        return tf.add_n([tf.convert_to_tensor(part) for part in some])


def _appended(slices: Sequence[Any]) -> Any:
    """Sparse gradients of an embedding, one after another: rows that are there twice are added by the optimizer."""
    values = tf.concat([each.values for each in slices], axis=0)
    indices = tf.concat([each.indices for each in slices], axis=0)
    return tf.IndexedSlices(values, indices, slices[0].dense_shape)
