"""Are two signatures of one hand? One tower for both, and the distance of what it makes."""

import keras
import numpy as np
from keras import layers, ops


def load():
    rng = np.random.default_rng(30)
    hands = rng.normal(size=(5, 16))
    left, right = rng.integers(0, 5, 100), rng.integers(0, 5, 100)
    right[:50] = left[:50]
    pairs = [hands[who] + 0.2 * rng.normal(size=(100, 16)) for who in (left, right)]
    return (pairs[0].astype("float32"), pairs[1].astype("float32")), (left == right).astype(
        "float32"
    )


def contrastive(y_true, distance, margin=1.0):
    apart = ops.square(ops.maximum(margin - distance, 0.0))
    return ops.mean(y_true * ops.square(distance) + (1 - y_true) * apart, axis=-1)


class Distance(layers.Layer):
    """How far apart two rows are."""

    def call(self, one, other):
        return ops.sqrt(ops.sum(ops.square(one - other), axis=1, keepdims=True) + 1e-6)


def make_model():
    tower = keras.Sequential([keras.Input((16,)), layers.Dense(12, "relu"), layers.Dense(4)])
    left, right = keras.Input((16,)), keras.Input((16,))
    model = keras.Model([left, right], Distance()(tower(left), tower(right)))
    model.compile("adam", loss=contrastive)
    return model
