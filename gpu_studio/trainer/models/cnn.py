"""The smallest convolutional network worth the name."""

from __future__ import annotations

import keras


def cnn(x: keras.KerasTensor, *, dropout: float) -> keras.KerasTensor:
    """One convolution without padding, pooling, and a dense layer.

    Images need at least 4 × 4 pixels.
    """
    x = keras.layers.Conv2D(32, 3, activation="relu", name="conv")(x)
    x = keras.layers.MaxPooling2D(2, name="pool")(x)
    x = keras.layers.Flatten(name="flatten")(x)
    x = keras.layers.Dense(64, activation="relu", name="dense")(x)
    if dropout > 0:
        x = keras.layers.Dropout(dropout, name="dropout")(x)
    return x
