"""How long a parcel takes at worst: a loss of one's own, a function that the plan names."""

import keras
import numpy as np
from keras import layers, ops


def load():
    rng = np.random.default_rng(22)
    x = rng.uniform(size=(90, 5)).astype("float32")
    return x, x.sum(axis=1) + rng.exponential(0.4, 90)


def pinball(y_true, y_pred):
    error = y_true - y_pred
    return ops.mean(ops.maximum(0.9 * error, -0.1 * error), axis=-1)


def make_model():
    return keras.Sequential([keras.Input((5,)), layers.Dense(16, "relu"), layers.Dense(1)])


def compiled():
    model = make_model()
    model.compile(keras.optimizers.Adam(0.01), pinball)
    return model
