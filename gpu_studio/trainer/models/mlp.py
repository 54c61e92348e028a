"""Dense layers, one after another: 784-256-256-256-10 on digits with the default options."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.models.blocks import dropped, flat, outputs


def mlp(dataset: Dataset, *, hidden: Sequence[int], activation: str, dropout: float) -> keras.Model:
    """A layer `dense`, `dense_1`, … for each number in `hidden`, then `outputs`. Samples of any shape are flattened."""
    inputs = keras.Input(dataset.sample_shape, name="inputs")
    x = flat(inputs)
    for index, units in enumerate(hidden):
        suffix = f"_{index}" if index else ""
        x = keras.layers.Dense(units, activation=activation, name=f"dense{suffix}")(x)
        x = dropped(x, dropout, f"dropout{suffix}")
    return keras.Model(inputs, outputs(x, dataset.outputs), name="mlp")
