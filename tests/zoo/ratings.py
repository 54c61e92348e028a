"""Films rated and sorted into genres: two outputs, weights of samples, and numbers of a batch."""

import keras
import numpy as np
from keras import layers, ops


def load():
    random = np.random.default_rng(5)
    x = random.normal(size=(103, 6)).astype("float32")
    stars = x[:, :1] + 0.3 * x[:, 1:2] ** 2
    targets = {"genre": random.integers(0, 3, 103), "stars": stars}
    weights = {"genre": random.random(103).astype("float32"), "stars": np.ones(103, "float32")}
    return x, targets, weights


class Watched(layers.Layer):
    """Tells how much it is active, one number for a batch, and how far it is from the input."""

    def __init__(self):
        super().__init__()
        self.inner = layers.Dense(8, "tanh")
        self.active = keras.metrics.Mean(name="active")
        self.far = keras.metrics.RootMeanSquaredError(name="far")

    def call(self, x):
        hidden = self.inner(x)
        self.active.update_state(ops.mean(ops.abs(hidden)))
        self.far.update_state(x[:, 0], hidden[:, 0])
        return hidden


def gap(y, outputs):
    return ops.mean(ops.max(outputs, -1) - ops.min(outputs, -1))


def make_model():
    inputs = keras.Input((6,))
    hidden = Watched()(inputs)
    genre = layers.Dense(3, "softmax", name="genre")(hidden)
    stars = layers.Dense(1, name="stars")(hidden)
    model = keras.Model(inputs, {"genre": genre, "stars": stars})
    model.compile(
        "adam",
        loss={"genre": "sparse_categorical_crossentropy", "stars": keras.losses.Huber()},
        loss_weights={"genre": 1.0, "stars": 0.3},
        metrics={"genre": ["accuracy", gap]},
        weighted_metrics={"genre": ["accuracy"], "stars": "mae"},
    )
    return model
