"""Gradients where their layers are, over several micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def accumulated(losses: Sequence[Any], variables: Sequence[Any], at_once: int) -> list[Any]:
    """For each variable, on its device, the sum of its gradients by all losses, one of each micro-batch.

    So many micro-batches are in their backward pass at once: the next begins when the first of them has been added. Of
    a variable no more than `at_once` + 1 gradients are there, however many micro-batches there are.
    """
    sums: list[list[Any]] = []
    for number, loss in enumerate(losses):
        found = gradients_of(loss, variables, sums[number - at_once] if number >= at_once else ())
        sums.append([_sum(*pair) for pair in zip(sums[-1], found, variables, strict=True)] if sums else found)
    return sums[-1]


def gradients_of(loss: Any, variables: Sequence[Any], after: Sequence[Any] = ()) -> list[Any]:
    """The gradients of `loss` by Keras variables (None where there is none), each operation where its forward one is.

    None is computed before all of `after` are there. A `GradientTape` would compute them all on the device of its own
    scope; this is the one way of TensorFlow's that colocates gradients. It works inside of a tf.function only.
    """
    storage = [variable.value for variable in variables]
    begin = _ones(loss, [each for each in after if each is not None])
    found: list[Any] = tf.compat.v1.gradients(
        loss, storage, grad_ys=begin, colocate_gradients_with_ops=True, name="gradients"
    )
    return found


def _ones(loss: Any, after: Sequence[Any]) -> Any:
    """What the backward pass begins with, once `after` are there."""
    if not after:
        return None
    # Grouped by device, so that each device tells the loss's once.
    with tf.control_dependencies([tf.group(*after)]), tf.device(loss.device):
        return tf.ones_like(loss)


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
