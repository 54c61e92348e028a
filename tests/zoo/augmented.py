"""A generator that turns the same few pictures this way and that, for ever."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(19)
    x = rng.uniform(size=(64, 8, 8, 1)).astype("float32")
    y = (x[:, :4].mean(axis=(1, 2, 3)) > 0.5).astype("float32")
    while True:
        for first in range(0, 64, 16):
            pictures = x[first : first + 16]
            yield (pictures[:, :, ::-1] if rng.random() > 0.5 else pictures), y[first : first + 16]


def make_model():
    inputs = keras.Input((8, 8, 1))
    x = layers.Conv2D(6, 3, activation="relu")(inputs)
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(layers.Flatten()(x)))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model
