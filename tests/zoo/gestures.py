"""Gestures of different length, filled up with -1: an LSTM that passes over the filling."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(15)
    kind = rng.integers(0, 3, 90)
    moves = rng.normal(size=(90, 10, 3)) + kind[:, None, None]
    for row, length in enumerate(rng.integers(4, 11, 90)):
        moves[row, length:] = -1.0
    return moves.astype("float32"), kind


def make_model():
    model = keras.Sequential(
        [
            keras.Input((10, 3)),
            layers.Masking(-1.0),
            layers.Bidirectional(layers.LSTM(8)),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
