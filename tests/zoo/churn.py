"""Which customers leave: a table, and a single yes or no."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(130, 9)).astype("float32")
    leaves = x[:, 0] - 0.8 * x[:, 3] + 0.3 * rng.normal(size=130) > 0.4
    return x, leaves.astype("int64")


def make_model():
    model = keras.Sequential(
        [
            keras.Input((9,)),
            layers.Dense(16, activation="relu"),
            layers.Dense(8, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(
        "adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")]
    )
    return model
