"""A known network as a base, frozen first, thawed later with a smaller rate: two phases."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(34)
    kinds = rng.integers(0, 3, 50)
    pictures = rng.uniform(0, 180, (50, 32, 32, 3)) + 25 * kinds[:, None, None, None]
    return pictures.astype("float32"), kinds


def network(thawed):
    base = keras.applications.MobileNet(
        input_shape=(32, 32, 3), alpha=0.25, include_top=False, weights=None, pooling="avg"
    )
    base.trainable = thawed
    inputs = keras.Input((32, 32, 3))
    x = keras.applications.mobilenet.preprocess_input(inputs)
    x = base(x, training=False)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


def make_model():
    model = network(thawed=False)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def thawed():
    model = network(thawed=True)
    rate = keras.optimizers.SGD(1e-3, momentum=0.9)
    model.compile(rate, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
