"""Slower once nothing improves: `ReduceLROnPlateau`, as `fit` would be given it."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(31)
    x = rng.normal(size=(80, 5)).astype("float32")
    return x, rng.normal(size=(80, 1)).astype("float32")


def make_model():
    model = keras.Sequential([keras.Input((5,)), layers.Dense(8, "relu"), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.3), "mse")
    return model


def callbacks():
    return [
        keras.callbacks.ReduceLROnPlateau(
            monitor="loss", factor=0.2, patience=0, min_delta=0.05, min_lr=1e-4
        )
    ]
