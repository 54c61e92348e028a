"""Numbers backwards: an encoder, and a decoder that is told what it should have said."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(13)
    words = rng.integers(2, 12, (90, 5))
    backwards = words[:, ::-1]
    told = np.concatenate([np.ones((90, 1), int), backwards[:, :-1]], axis=1)
    return {"word": words, "told": told}, backwards


def make_model():
    word = keras.Input((5,), dtype="int32", name="word")
    told = keras.Input((5,), dtype="int32", name="told")
    _, hidden, cell = layers.LSTM(12, return_state=True)(layers.Embedding(12, 6)(word))
    x = layers.Embedding(12, 6)(told)
    x = layers.LSTM(12, return_sequences=True)(x, initial_state=[hidden, cell])
    model = keras.Model([word, told], layers.Dense(12, activation="softmax")(x))
    model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
