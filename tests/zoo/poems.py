"""The next letter of a poem: a recurrent network with a target at every step."""

import keras
import numpy as np
from keras import layers

TEXT = "the wind goes over the hill and the rain comes over the sea " * 40
LETTERS = sorted(set(TEXT))


def load():
    ids = np.array([LETTERS.index(letter) for letter in TEXT])
    rows = ids[: len(ids) // 21 * 21].reshape(-1, 21)[:90]
    return rows[:, :-1], rows[:, 1:]


def make_model():
    model = keras.Sequential(
        [
            keras.Input((20,), dtype="int64"),
            layers.Embedding(len(LETTERS), 8),
            layers.GRU(16, return_sequences=True),
            layers.Dense(len(LETTERS)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(5e-3), loss, metrics=["accuracy"])
    return model
