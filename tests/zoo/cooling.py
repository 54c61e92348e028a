"""A learning rate that falls with the cosine, as an object given to the optimizer."""

import keras
import numpy as np
from keras import layers


def load():
    x = np.random.default_rng(33).normal(size=(90, 8)).astype("float32")
    return x, np.abs(x).sum(axis=1, keepdims=True)


def make_model():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(16, "swish"), layers.Dense(1)])
    rate = keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=0.0, decay_steps=8, warmup_target=0.01, warmup_steps=3
    )
    model.compile(keras.optimizers.Adam(rate, clipnorm=1.0), "mse", metrics=["mae"])
    return model
