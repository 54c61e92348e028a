"""Words by the company they keep: the right neighbour among four wrong ones (word2vec)."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(43)
    word = rng.integers(0, 40, 120)
    wrong = rng.integers(0, 40, (120, 4))
    context = np.concatenate([((word + 1) % 40)[:, None], wrong], axis=1)
    labels = np.zeros((120, 5), "float32")
    labels[:, 0] = 1
    return (word[:, None], context), labels


class Word2Vec(keras.Model):
    """How well each neighbour goes with the word."""

    def __init__(self):
        super().__init__()
        self.words = layers.Embedding(40, 8)
        self.contexts = layers.Embedding(40, 8)
        self.dot, self.flat = layers.Dot(axes=2), layers.Flatten()

    def call(self, pair):
        word, context = pair
        return self.flat(self.dot([self.contexts(context), self.words(word)]))


def make_model():
    model = Word2Vec()
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model
