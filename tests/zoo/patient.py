"""Stopped early with the best weights given back, of an optimizer that averages them."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(47)
    x = rng.normal(size=(90, 6)).astype("float32")
    return x, rng.normal(size=(90, 1)).astype("float32")


def make_model():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(12, "relu"), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.4, use_ema=True, ema_momentum=0.8), "mse")
    return model


class Halves(keras.callbacks.Callback):
    """Ends with half the last bias."""

    def on_train_end(self, logs=None):
        *others, bias = self.model.get_weights()
        self.model.set_weights([*others, bias / 2])


def callbacks():
    patient = keras.callbacks.EarlyStopping(
        monitor="val_loss", patience=2, restore_best_weights=True
    )
    return [patient, Halves()]
