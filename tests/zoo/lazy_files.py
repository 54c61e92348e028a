"""Batches that a `PyDataset` makes one after another, as from files."""

import math

import keras
import numpy as np
from keras import layers


class Files(keras.utils.PyDataset):
    """Reads a batch when it is asked for."""

    def __len__(self):
        return math.ceil(70 / 16)

    def __getitem__(self, place):
        rng = np.random.default_rng(place)
        size = min(16, 70 - 16 * place)
        x = rng.normal(size=(size, 8)).astype("float32")
        return x, (x.sum(axis=1) > 0).astype("int32")


def load():
    return Files()


def make_model():
    model = keras.Sequential(
        [keras.Input((8,)), layers.Dense(12, "relu"), layers.Dense(2, "softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
