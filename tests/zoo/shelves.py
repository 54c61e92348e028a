"""Two inputs and two targets in tuples, for fit(*load()), and a model of a class of its own."""

import keras
import numpy as np
from keras import layers, ops


def load():
    random = np.random.default_rng(11)
    sizes = random.normal(size=(103, 4)).astype("float32")
    words = random.integers(0, 9, (103, 5)).astype("int32")
    return (sizes, words), (sizes.sum(1, keepdims=True), (words.sum(1) > 20).astype("float32"))


class Shelf(keras.Model):
    """Guesses how wide a shelf must be, and whether it is a thick book."""

    def __init__(self):
        super().__init__()
        self.embed, self.most = layers.Embedding(9, 6), layers.GlobalMaxPooling1D()
        self.dense = layers.Dense(8, "relu")
        self.width, self.thick = layers.Dense(1), layers.Dense(1, "sigmoid")

    def call(self, inputs, training=None):
        sizes, words = inputs
        hidden = ops.concatenate([self.dense(sizes), self.most(self.embed(words))], axis=-1)
        return self.width(hidden), self.thick(hidden)


def make_model():
    model = Shelf()
    model.compile(
        "adam",
        ["mse", "binary_crossentropy"],
        loss_weights=[0.5, 1.5],
        metrics=[["mae"], ["accuracy", "AUC"]],
    )
    return model
