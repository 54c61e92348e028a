"""Pairs that are the same or not, by a loss that a layer adds: inputs by name, and no targets."""

import keras
import numpy as np
from keras import layers, ops


def load():
    random = np.random.default_rng(8)
    left = random.normal(size=(104, 10)).astype("float32")
    same = random.integers(0, 2, 104).astype("float32")
    near, other = left + 0.1 * random.normal(size=left.shape), random.normal(size=left.shape)
    return {"left": left, "right": np.where(same[:, None], near, other), "same": same}


class Contrast(layers.Layer):
    """Draws together what is the same, and keeps the rest apart."""

    def call(self, left, right, same):
        far = ops.sqrt(ops.sum(ops.square(left - right), axis=-1) + 1e-9)
        apart = ops.square(ops.maximum(1 - far, 0))
        self.add_loss(ops.mean(same * ops.square(far) + (1 - same) * apart))
        return far


def make_model():
    inputs = {name: keras.Input((10,), name=name) for name in ("left", "right")}
    inputs["same"] = keras.Input((), name="same")
    tower = keras.Sequential([layers.Dense(16, "relu", kernel_regularizer="l2"), layers.Dense(4)])
    far = Contrast()(tower(inputs["left"]), tower(inputs["right"]), inputs["same"])
    model = keras.Model(inputs, far)
    model.compile(keras.optimizers.Adam(0.01))
    return model
