"""Combine the state that layers change in several micro-batches.

Each micro-batch starts from the same state V and leaves V_i behind. Their combination is written
once per step, as `layer_state` says: mostly their mean, weighted by samples. For the moving
variance of batch normalisation that is not enough: with momentum m, V_i = m·V + (1 − m)·b_i, and
the variance of the whole batch is the mean of the variances plus the variance of the means, so that
Σ w_i (M_i − M)² / (1 − m) is added, M_i being the moving means. Each micro-batch is normalised by
itself.

This is the deferred batch normalisation of Kim et al. 2020, "torchgpipe" (arXiv:2004.09910),
section 3.2.1, after Huang et al. 2019, "GPipe" (arXiv:1811.06965), section 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.trainer.layer_state import BatchPart, Caught, contribution, joined
from gpu_studio.trainer.placed.assignment import LayerAssignment


def normalisations(seats: Sequence[LayerAssignment]) -> list[Any]:
    """Return the batch normalisations of a model, also those within composite layers."""
    # No public name.
    layers = [layer for seat in seats for layer in seat.layer._flatten_layers()]  # noqa: SLF001
    return [layer for layer in layers if isinstance(layer, keras.layers.BatchNormalization)]


class Statistics:
    """Writes, once per step, what a model's layers changed in the step's micro-batches."""

    def __init__(self, layers: Sequence[Any]) -> None:
        """`layers` are the model's batch normalisations."""
        self._means = {
            id(layer.moving_variance): (layer.moving_mean, layer.momentum) for layer in layers
        }

    def write(self, parts: Sequence[tuple[Caught, BatchPart]]) -> None:
        """Write what was recorded in each micro-batch."""
        for variable in parts[0][0].changed:
            with tf.device(variable.value.device):
                variable.value.assign(self._together(variable, parts))

    def _together(self, variable: Any, parts: Sequence[tuple[Caught, BatchPart]]) -> Any:
        if len(parts) == 1:
            return parts[0][0].get_current_value(variable)
        total = tf.add_n([contribution(variable, *each) for each in parts])
        moving_mean, momentum = self._means.get(id(variable), (None, 1.0))
        if moving_mean is not None and momentum != 1.0:
            total += tf.cast(_spread(moving_mean, parts), total.dtype) / (1.0 - momentum)
        return joined(variable.value, total)


def _spread(variable: Any, parts: Sequence[tuple[Caught, BatchPart]]) -> Any:
    """Return the variance of what the micro-batches left, weighted by samples."""
    values = [
        (tf.cast(caught.get_current_value(variable), tf.float32), part.share)
        for caught, part in parts
    ]
    centre = tf.add_n([value * share for value, share in values])
    return tf.add_n([tf.square(value - centre) * share for value, share in values])
