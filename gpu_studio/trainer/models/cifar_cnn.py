"""The two-convolution tower of TensorFlow's CIFAR-10 multi-GPU tutorial, with batch normalisation.

From `cifar10.py` of TensorFlow's tutorials (models/tutorials/image/cifar10), after Krizhevsky's cuda-convnet: conv1,
pool1, norm1, conv2, norm2, pool2, local3 (384), local4 (192), outputs. Its local response normalisation is replaced
by batch normalisation, which needs no tuning; its weight decay belongs to the optimizer (`weight_decay`); its initial
weights are Keras' (Glorot and Bengio 2010) instead of normal ones of hand-picked widths.
"""

from __future__ import annotations

import keras

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.models.blocks import normed, outputs


def cifar_cnn(dataset: Dataset) -> keras.Model:
    """Convolutions of 5 × 5 and pools of 3 × 3 that overlap, all padded: images of any size."""
    layers = keras.layers
    inputs = keras.Input(dataset.sample_shape, name="inputs")
    x = layers.Conv2D(64, 5, padding="same", activation="relu", name="conv1")(inputs)
    x = layers.MaxPooling2D(3, strides=2, padding="same", name="pool1")(x)
    x = normed(x, "norm1")
    x = layers.Conv2D(64, 5, padding="same", activation="relu", name="conv2")(x)
    x = normed(x, "norm2")
    x = layers.MaxPooling2D(3, strides=2, padding="same", name="pool2")(x)
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(384, activation="relu", name="local3")(x)
    x = layers.Dense(192, activation="relu", name="local4")(x)
    return keras.Model(inputs, outputs(x, dataset.outputs), name="cifar_cnn")
