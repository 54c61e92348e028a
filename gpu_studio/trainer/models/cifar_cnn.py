"""The two-convolution tower of TensorFlow's CIFAR-10 multi-GPU tutorial.

From `cifar10.py` of TensorFlow's tutorials (models/tutorials/image/cifar10). Its weight decay
belongs to the optimizer (`weight_decay`); its initial weights are Keras' (Glorot and Bengio 2010)
instead of normal ones of hand-picked widths.
"""

from __future__ import annotations

import keras


def cifar_cnn(x: keras.KerasTensor) -> keras.KerasTensor:
    """Two convolutions, pooling, and two dense layers, after Krizhevsky's cuda-convnet.

    Everything is padded, so images may have any size. The original's local response
    normalisation is replaced by batch normalisation, which needs no tuning.
    """
    x = keras.layers.Conv2D(64, 5, padding="same", activation="relu", name="conv1")(x)
    x = keras.layers.MaxPooling2D(3, strides=2, padding="same", name="pool1")(x)
    x = normed(x, "norm1")
    x = keras.layers.Conv2D(64, 5, padding="same", activation="relu", name="conv2")(x)
    x = normed(x, "norm2")
    x = keras.layers.MaxPooling2D(3, strides=2, padding="same", name="pool2")(x)
    x = keras.layers.Flatten(name="flatten")(x)
    x = keras.layers.Dense(384, activation="relu", name="local3")(x)
    return keras.layers.Dense(192, activation="relu", name="local4")(x)


def normed(x: keras.KerasTensor, name: str) -> keras.KerasTensor:
    """Batch normalisation whose statistics follow the last tens of steps.

    With Keras' own momentum of 0.99, a short run would still be evaluated with their
    initial values.
    """
    norm = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=name)
    return norm(x)
