"""A subclassed language model whose layers are built late, and whose embedding gives the words."""

import keras
import numpy as np
from keras import layers, ops


class Block(layers.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = layers.MultiHeadAttention(heads, width // heads, use_bias=False)
        self.before, self.between = layers.LayerNormalization(), layers.LayerNormalization()
        self.inner, self.outer = layers.Dense(2 * width, "gelu"), layers.Dense(width)

    def call(self, x):
        seen = self.before(x)
        x = x + self.attention(seen, seen, use_causal_mask=True)
        return x + self.outer(self.inner(self.between(x)))


class LanguageModel(keras.Model):
    def __init__(self, words, length, width=8, blocks=2):
        super().__init__()
        self.words = layers.Embedding(words, width)
        self.places = layers.Embedding(length, width)
        self.blocks = [Block(width, heads=2) for _ in range(blocks)]
        self.length = length

    def call(self, text):
        x = self.words(text) + self.places(ops.arange(self.length))
        for block in self.blocks:
            x = block(x)
        return ops.matmul(x, ops.transpose(self.words.embeddings))


def load():
    text = np.cumsum(np.random.default_rng(59).integers(1, 4, size=(96, 7)), axis=1) % 20
    return text[:, :-1], text[:, 1:]


def make_model():
    model = LanguageModel(words=20, length=6)
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model
