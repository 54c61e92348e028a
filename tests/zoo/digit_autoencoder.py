"""Digits through a narrow middle and back: the picture is its own target."""

from pathlib import Path

import keras
import numpy as np
from keras import layers

DIGITS = Path(__file__).parents[2] / "resources" / "data" / "digits.npz"


def load():
    images = np.load(DIGITS)["images"][:130, ..., None].astype("float32") / 16
    return images, images


def make_model():
    inputs = keras.Input((8, 8, 1))
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(2, 3, strides=2, padding="same", activation="relu", name="code")(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu")(x)
    outputs = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)
    model = keras.Model(inputs, outputs)
    model.compile("adam", "binary_crossentropy")
    return model
