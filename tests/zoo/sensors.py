"""Readings that come as they come: nobody knows how many there are before they are over."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def readings():
    rng = np.random.default_rng(18)
    for _ in range(130):
        reading = rng.normal(size=7).astype("float32")
        yield reading, reading[:2].sum()


def load():
    kinds = (tf.TensorSpec((7,), tf.float32), tf.TensorSpec((), tf.float32))
    data = tf.data.Dataset.from_generator(readings, output_signature=kinds)
    return data.filter(lambda reading, _: reading[6] > -1.0).batch(16)


def make_model():
    model = keras.Sequential([keras.Input((7,)), layers.Dense(16, "relu"), layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    return model
