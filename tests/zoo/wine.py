"""Which of three vineyards a wine is from, by its chemistry."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 3, 90)
    x = rng.normal(size=(90, 13)) + kind[:, None] * np.linspace(0, 1, 13)
    return x, kind


def make_model():
    inputs = keras.Input((13,))
    x = layers.Dense(24, activation="gelu")(inputs)
    outputs = layers.Dense(3, activation="softmax")(x)
    model = keras.Model(inputs, outputs)
    model.compile(
        optimizer=keras.optimizers.RMSprop(3e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model
