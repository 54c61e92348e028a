"""The section of a headline by a small transformer over token ids."""

import keras
import numpy as np
from keras import layers, ops


def load():
    rng = np.random.default_rng(12)
    section = rng.integers(0, 4, 90)
    ids = rng.integers(1, 60, (90, 12))
    ids[:, 0] = section + 1
    return ids, section


class Places(layers.Layer):
    """Adds where a token stands to what it says."""

    def __init__(self, length, vocabulary, width, **kwargs):
        super().__init__(**kwargs)
        self.tokens = layers.Embedding(vocabulary, width)
        self.places = layers.Embedding(length, width)

    def call(self, ids):
        return self.tokens(ids) + self.places(ops.arange(ops.shape(ids)[-1]))


class Block(layers.Layer):
    """Attention, then two dense layers, each added to what came in."""

    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(2, width // 2)
        self.dense = keras.Sequential([layers.Dense(2 * width, "relu"), layers.Dense(width)])
        self.first, self.second = layers.LayerNormalization(), layers.LayerNormalization()

    def call(self, x):
        x = self.first(x + self.attention(x, x))
        return self.second(x + self.dense(x))


def make_model():
    inputs = keras.Input((12,), dtype="int32")
    x = Block(16)(Places(12, 60, 16)(inputs))
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(inputs, layers.Dense(4, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
