"""What layers change while they are called, put together from micro-batches.

Each micro-batch starts from the same state V and leaves V_i behind. Their mean, weighted by samples, is written once a
step. For the moving variance of batch normalisation the mean is not enough: with momentum m, V_i = m·V + (1 − m)·b_i,
and the variance of the whole batch is the mean of the variances plus the variance of the means, so that
Σ w_i (M_i − M)² / (1 − m) is added, M_i being the moving means. Each micro-batch is normalised by itself.

This is the deferred batch normalisation of Kim et al. 2020, "torchgpipe" (arXiv:2004.09910), section 3.2.1, after
Huang et al. 2019, "GPipe" (arXiv:1811.06965), section 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.trainer.placed.assignment import Seat


def normalisations(seats: Sequence[Seat]) -> list[Any]:
    """The batch normalisations of a model, also those within composite layers."""
    layers = [layer for seat in seats for layer in seat.layer._flatten_layers()]  # noqa: SLF001 (no public name)
    return [layer for layer in layers if isinstance(layer, keras.layers.BatchNormalization)]


class Statistics:
    """Writes, once a step, what the layers of a model have changed in the micro-batches of it."""

    def __init__(self, variables: Sequence[Any], layers: Sequence[Any]) -> None:
        """`variables` are the model's that training does not change; `layers` its batch normalisations."""
        self._variables = list(variables)
        self._means = {id(layer.moving_variance): (layer.moving_mean, layer.momentum) for layer in layers}

    def write(self, scopes: Sequence[Any], shares: Sequence[Any]) -> None:
        """`scopes` are the `StatelessScope`s of the micro-batches; `shares` of the samples sum to 1."""
        changed = [(v, [scope.get_current_value(v) for scope in scopes]) for v in self._variables]
        for variable, values in [(v, values) for v, values in changed if values[0] is not None]:
            with tf.device(variable.value.device):
                variable.value.assign(self._together(variable, values, scopes, shares))

    def _together(self, variable: Any, values: Sequence[Any], scopes: Sequence[Any], shares: Sequence[Any]) -> Any:
        if len(values) == 1:
            return values[0]
        mean = _mean(values, shares)
        moving_mean, momentum = self._means.get(id(variable), (None, 1.0))
        if moving_mean is None or momentum == 1.0:
            return mean
        centres = [scope.get_current_value(moving_mean) for scope in scopes]
        centre = _mean(centres, shares)
        return mean + _mean([tf.square(each - centre) for each in centres], shares) / (1.0 - momentum)


def _mean(values: Sequence[Any], shares: Sequence[Any]) -> Any:
    terms = [tf.cast(value, tf.float32) * share for value, share in zip(values, shares, strict=True)]
    return tf.cast(tf.add_n(terms), values[0].dtype)
