"""A variational autoencoder with a training step of its own, and no targets."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

DIGITS = Path(__file__).parents[2] / "resources" / "data" / "digits.npz"


def load():
    return np.load(DIGITS)["images"][:130].reshape(-1, 64).astype("float32") / 16


class Vae(keras.Model):
    """Learns to make digits, and how likely they are."""

    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([layers.Dense(32, "relu"), layers.Dense(8)])
        self.decoder = keras.Sequential([layers.Dense(32, "relu"), layers.Dense(64, "sigmoid")])
        self.noise = keras.random.SeedGenerator(7)
        self.total = keras.metrics.Mean(name="loss")
        self.divergence = keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.total, self.divergence]

    def call(self, x):
        mean, spread = ops.split(self.encoder(x), 2, axis=-1)
        drawn = keras.random.normal(ops.shape(mean), seed=self.noise)
        return self.decoder(mean + ops.exp(0.5 * spread) * drawn), mean, spread

    def train_step(self, x):
        with tf.GradientTape() as tape:
            made, mean, spread = self(x, training=True)
            kl = -0.5 * ops.sum(1 + spread - ops.square(mean) - ops.exp(spread), axis=-1)
            loss = ops.mean(64 * keras.losses.binary_crossentropy(x, made) + kl)
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self.total.update_state(loss)
        self.divergence.update_state(kl)
        return {"loss": self.total.result(), "kl": self.divergence.result()}


def make_model():
    model = Vae()
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    return model
