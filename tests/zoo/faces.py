"""Age, smile and mood of a face: three outputs with a loss, a weight and metrics each."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(9)
    x = rng.uniform(size=(90, 12, 12, 1)).astype("float32")
    means = x.mean(axis=(1, 2, 3))
    y = {
        "age": 100 * means,
        "smile": (means > means.mean()).astype("float32"),
        "mood": rng.integers(0, 4, 90),
    }
    return x, y


def make_model():
    face = keras.Input((12, 12, 1))
    x = layers.Conv2D(6, 3, activation="relu")(face)
    x = layers.GlobalMaxPooling2D()(x)
    x = layers.Dense(16, activation="relu")(x)
    outputs = {
        "age": layers.Dense(1, name="age")(x),
        "smile": layers.Dense(1, activation="sigmoid", name="smile")(x),
        "mood": layers.Dense(4, activation="softmax", name="mood")(x),
    }
    model = keras.Model(face, outputs)
    model.compile(
        optimizer="adam",
        loss={
            "age": "mae",
            "smile": "binary_crossentropy",
            "mood": "sparse_categorical_crossentropy",
        },
        loss_weights={"age": 0.01, "smile": 1.0, "mood": 0.5},
        metrics={"age": ["mse"], "smile": ["accuracy"], "mood": ["accuracy"]},
    )
    return model
