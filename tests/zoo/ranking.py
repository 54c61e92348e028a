"""Which of two pages is the better answer: a score learnt from pairs alone."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(41)
    pages = rng.normal(size=(2, 90, 7)).astype("float32")
    better = pages[0, :, 0] > pages[1, :, 0]
    return {"one": pages[0], "other": pages[1]}, better.astype("float32")


def make_model():
    score = keras.Sequential(
        [keras.Input((7,)), layers.Dense(12, "relu"), layers.Dense(1)], name="score"
    )
    one, other = keras.Input((7,), name="one"), keras.Input((7,), name="other")
    ahead = layers.Subtract()([score(one), score(other)])
    model = keras.Model({"one": one, "other": other}, layers.Activation("sigmoid")(ahead))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model
