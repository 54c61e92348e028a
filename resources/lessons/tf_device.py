"""A model whose second half is meant for another device, as many tutorials write it."""

import keras
import tensorflow as tf


def build() -> keras.Model:
    """Two hidden layers; `second` and `outputs` are built under tf.device("/CPU:1")."""
    inputs = keras.Input((28, 28, 1))
    x = keras.layers.Flatten(name="flatten")(inputs)
    x = keras.layers.Dense(64, activation="relu", name="first")(x)
    with tf.device("/CPU:1"):
        x = keras.layers.Dense(64, activation="relu", name="second")(x)
        outputs = keras.layers.Dense(10, name="outputs")(x)
    return keras.Model(inputs, outputs)
