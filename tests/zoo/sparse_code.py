"""A code of which only few units are awake: a layer of one's own that adds a loss."""

import keras
import numpy as np
from keras import layers, ops


def load():
    x = np.random.default_rng(25).normal(size=(90, 12)).astype("float32")
    return x, x


class Sleepy(layers.Layer):
    """Wants each unit to be awake for a tenth of the samples."""

    def call(self, x):
        awake = ops.mean(x, axis=0)
        self.add_loss(0.1 * ops.sum(ops.square(awake - 0.1)))
        return x


def make_model():
    inputs = keras.Input((12,))
    code = Sleepy()(layers.Dense(20, activation="sigmoid")(inputs))
    model = keras.Model(inputs, layers.Dense(12)(code))
    model.compile("adam", "mse")
    return model
