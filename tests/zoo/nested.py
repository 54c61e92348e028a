"""Models within models: an encoder that two heads share."""

import keras
import numpy as np
from keras import layers


def load():
    x = np.random.default_rng(37).normal(size=(90, 9)).astype("float32")
    return x, (x[:, :4], (x[:, 4] > 0).astype("float32"))


def part(shape, *widths, last, name):
    inner = keras.Sequential([keras.Input(shape)], name=name)
    for width in widths:
        inner.add(layers.Dense(width, activation="relu"))
    inner.add(layers.Dense(last))
    return inner


def make_model():
    encoder = part((9,), 16, last=6, name="encoder")
    values, choice = part((6,), 8, last=4, name="values"), part((6,), last=1, name="choice")
    inputs = keras.Input((9,))
    code = encoder(inputs)
    model = keras.Model(
        inputs, [values(code), layers.Activation("sigmoid", name="yes")(choice(code))]
    )
    model.compile("adam", ["mse", "binary_crossentropy"], loss_weights=[2.0, 1.0])
    return model
