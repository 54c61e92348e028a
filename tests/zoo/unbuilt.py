"""Layers in a row that learn only from the data how wide they are."""

import keras
import numpy as np
from keras import layers


def load():
    x = np.random.default_rng(35).normal(size=(90, 7))
    return x, (x.sum(axis=1) > 0).astype("uint8")


def make_model():
    model = keras.Sequential([layers.Dense(12, "relu"), layers.Dense(4, "relu"), layers.Dense(1)])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(
        optimizer="adam", loss=loss, metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)]
    )
    return model
