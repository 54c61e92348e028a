"""Two networks against each other, each with an optimizer of its own."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops


def load():
    angle = np.random.default_rng(26).uniform(0, 6.28, 90)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype("float32")


class Gan(keras.Model):
    """A forger and a judge."""

    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential(
            [keras.Input((2,)), layers.Dense(16, "relu"), layers.Dense(1)]
        )
        self.forger = keras.Sequential(
            [keras.Input((4,)), layers.Dense(16, "relu"), layers.Dense(2)]
        )
        self.noise = keras.random.SeedGenerator(5)
        self.judged, self.forged = (
            keras.metrics.Mean("judge_loss"),
            keras.metrics.Mean("forger_loss"),
        )

    @property
    def metrics(self):
        return [self.judged, self.forged]

    def compile(self, judge_optimizer, forger_optimizer, loss):
        super().compile()
        self.judge_optimizer, self.forger_optimizer = judge_optimizer, forger_optimizer
        self.loss = loss

    def train_step(self, real):
        rows = ops.shape(real)[0]
        noise = keras.random.normal((rows, 4), seed=self.noise)
        both = ops.concatenate([self.forger(noise), real], axis=0)
        labels = ops.concatenate([ops.ones((rows, 1)), ops.zeros((rows, 1))], axis=0)
        with tf.GradientTape() as tape:
            judge_loss = self.loss(labels, self.judge(both))
        found = tape.gradient(judge_loss, self.judge.trainable_weights)
        self.judge_optimizer.apply(found, self.judge.trainable_weights)
        noise = keras.random.normal((rows, 4), seed=self.noise)
        with tf.GradientTape() as tape:
            forger_loss = self.loss(ops.zeros((rows, 1)), self.judge(self.forger(noise)))
        found = tape.gradient(forger_loss, self.forger.trainable_weights)
        self.forger_optimizer.apply(found, self.forger.trainable_weights)
        self.judged.update_state(judge_loss)
        self.forged.update_state(forger_loss)
        return {"judge_loss": self.judged.result(), "forger_loss": self.forged.result()}


def make_model():
    gan = Gan()
    gan.compile(
        keras.optimizers.Adam(3e-4),
        keras.optimizers.Adam(3e-4, beta_1=0.5),
        keras.losses.BinaryCrossentropy(from_logits=True),
    )
    return gan
