"""One dense unit: linear regression by gradient descent."""

from __future__ import annotations

import keras

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.models.blocks import flat, outputs


def linear(dataset: Dataset) -> keras.Model:
    """One line, y = w · x + b; the weights of the layer `outputs` are the slope and the intercept."""
    inputs = keras.Input(dataset.sample_shape, name="inputs")
    return keras.Model(inputs, outputs(flat(inputs), dataset.outputs), name="linear")
