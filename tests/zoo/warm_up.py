"""A callback of one's own: a slow start, and an end once it is good enough."""

import keras
import numpy as np
from keras import layers


def load():
    x = np.random.default_rng(32).normal(size=(90, 6)).astype("float32")
    return x, (x[:, 0] > 0).astype("int32")


def make_model():
    model = keras.Sequential(
        [keras.Input((6,)), layers.Dense(16, "relu"), layers.Dense(2, "softmax")]
    )
    model.compile(
        keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


class WarmUp(keras.callbacks.Callback):
    """A tenth of the rate in the first epoch; enough is enough."""

    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.learning_rate = 0.002 if epoch == 0 else 0.02

    def on_epoch_end(self, epoch, logs=None):
        if logs["accuracy"] > 0.8:
            self.model.stop_training = True


def callbacks():
    return WarmUp()
