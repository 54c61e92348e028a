"""The smallest convolutional network worth the name: one convolution, pooling, one dense layer."""

from __future__ import annotations

import keras

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.models.blocks import dropped, outputs


def cnn(dataset: Dataset, *, dropout: float) -> keras.Model:
    """32 feature maps of 3 × 3 without padding, halved, and 64 dense units: images of at least 4 × 4."""
    inputs = keras.Input(dataset.sample_shape, name="inputs")
    x = keras.layers.Conv2D(32, 3, activation="relu", name="conv")(inputs)
    x = keras.layers.MaxPooling2D(2, name="pool")(x)
    x = keras.layers.Flatten(name="flatten")(x)
    x = keras.layers.Dense(64, activation="relu", name="dense")(x)
    x = dropped(x, dropout, "dropout")
    return keras.Model(inputs, outputs(x, dataset.outputs), name="cnn")
