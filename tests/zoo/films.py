"""Who likes which film: two tables of embeddings and their product."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(42)
    who, what = rng.integers(0, 20, 150), rng.integers(0, 30, 150)
    stars = 3 + np.sin(who) * np.cos(what)
    return {"who": who, "what": what}, stars.astype("float32")


def make_model():
    who = keras.Input((), dtype="int32", name="who")
    what = keras.Input((), dtype="int32", name="what")
    small = keras.regularizers.L2(1e-4)
    taste = layers.Embedding(20, 6, embeddings_regularizer=small)(who)
    style = layers.Embedding(30, 6, embeddings_regularizer=small)(what)
    bias = layers.Flatten()(layers.Embedding(30, 1)(layers.Reshape((1,))(what)))
    stars = layers.Add()([layers.Dot(axes=1)([taste, style]), bias])
    model = keras.Model([who, what], stars)
    model.compile(keras.optimizers.Adagrad(0.1), "mse")
    return model
