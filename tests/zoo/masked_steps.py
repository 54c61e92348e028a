"""Sequences of several lengths, both ways, with a weight for each step."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(90, 7, 3)).astype("float32")
    for row, length in enumerate(rng.integers(2, 8, 90)):
        x[row, length:] = 0
    y = x.sum(-1, keepdims=True)
    weights = rng.uniform(0.5, 2, (90, 7)).astype("float32")
    return x, y, weights


def make_model():
    model = keras.Sequential(
        [
            keras.Input((7, 3)),
            layers.Masking(),
            layers.Bidirectional(layers.LSTM(5, return_sequences=True)),
            layers.TimeDistributed(layers.Dense(1)),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"], weighted_metrics=["mse"])
    return model
