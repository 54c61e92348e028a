"""Handwritten digits: convolutions, batch normalisation, dropout, one-hot labels."""

from pathlib import Path

import keras
import numpy as np
from keras import layers

DIGITS = Path(__file__).parents[2] / "resources" / "data" / "digits.npz"


def load():
    digits = np.load(DIGITS)
    x = digits["images"][:130, ..., None].astype("float32") / 16
    return x, keras.utils.to_categorical(digits["labels"][:130], 10)


def make_model():
    model = keras.Sequential([keras.Input((8, 8, 1))])
    for filters in (8, 16):
        model.add(layers.Conv2D(filters, 3, padding="same", use_bias=False))
        model.add(layers.BatchNormalization())
        model.add(layers.ReLU())
        model.add(layers.MaxPooling2D())
    model.add(layers.Flatten())
    model.add(layers.Dropout(0.4))
    model.add(layers.Dense(10, activation="softmax"))
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    return model
