"""LeNet as Caffe and DIGITS ship it, with a dense layer of 128."""

from __future__ import annotations

import keras


def lenet(x: keras.KerasTensor, *, dropout: float) -> keras.KerasTensor:
    """Two convolutions without padding, each followed by pooling, and a dense layer.

    After LeCun et al. 1998, "Gradient-based learning applied to document recognition",
    as Caffe has it: 20 and 50 full feature maps, maxima instead of trainable averages,
    and rectified units. Images need at least 16 × 16 pixels.
    """
    x = keras.layers.Conv2D(20, 5, activation="relu", name="conv1")(x)
    x = keras.layers.MaxPooling2D(2, name="pool1")(x)
    x = keras.layers.Conv2D(50, 5, activation="relu", name="conv2")(x)
    x = keras.layers.MaxPooling2D(2, name="pool2")(x)
    x = keras.layers.Flatten(name="flatten")(x)
    x = keras.layers.Dense(128, activation="relu", name="dense")(x)
    if dropout > 0:
        x = keras.layers.Dropout(dropout, name="dropout")(x)
    return x
