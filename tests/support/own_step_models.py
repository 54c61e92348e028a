"""Models with steps of their own, in the words of their users; and what they learn."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops
from keras.src.utils import naming

WIDTH, CLASSES = 12, 3


def samples(count: int, seed: int) -> tuple[Any, Any]:
    """Samples and classes."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(count, WIDTH)).astype("float32")
    return x, draw.integers(0, CLASSES, count).astype("int32")


class Vae(keras.Model):  # type: ignore[misc]  # Keras has no types
    """An autoencoder that draws: no call, no targets, two losses, sub-models not built yet."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = keras.Sequential([layers.Dense(8, "relu"), layers.Dense(6)])
        self.decoder = keras.Sequential([layers.Dense(8, "relu"), layers.Dense(WIDTH)])
        self.noise = keras.random.SeedGenerator(7)
        self.total = keras.metrics.Mean(name="loss")
        self.kl = keras.metrics.Mean(name="kl_loss")

    @property
    def metrics(self) -> list[Any]:
        return [self.total, self.kl]

    def train_step(self, x: Any) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            mean, spread = ops.split(self.encoder(x), 2, axis=-1)
            drawn = keras.random.normal(ops.shape(mean), seed=self.noise)
            made = self.decoder(mean + ops.exp(0.5 * spread) * drawn)
            kl = ops.mean(-0.5 * ops.sum(1 + spread - mean**2 - ops.exp(spread), axis=-1))
            loss = ops.mean(ops.sum((x - made) ** 2, axis=-1)) + kl
        found = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(found, self.trainable_weights, strict=True))
        self.total.update_state(loss)
        self.kl.update_state(kl)
        return {"loss": self.total.result(), "kl_loss": self.kl.result()}


class Gan(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Two networks, two optimizers, losses of Keras and of its own, and a gradient penalty."""

    def __init__(self) -> None:
        super().__init__()
        self.judge = keras.Sequential(
            [keras.Input((WIDTH,)), layers.Dense(8, "tanh"), layers.Dense(1)]
        )
        self.forger = keras.Sequential([keras.Input((4,)), layers.Dense(WIDTH)])

    def compile(self, judge_optimizer: Any, forger_optimizer: Any, loss: Any) -> None:
        super().compile()
        self.judge_optimizer, self.forger_optimizer = judge_optimizer, forger_optimizer
        self.loss = loss
        self.seen = keras.metrics.Mean(name="judge_loss")
        self.count = keras.metrics.Sum(name="samples")

    @property
    def metrics(self) -> list[Any]:
        return [self.seen, self.count]

    def train_step(self, real: Any) -> dict[str, Any]:
        latent, rows = real[:, :4], ops.shape(real)[0]
        with tf.GradientTape() as tape:
            forged = self.forger(latent)
            between = 0.3 * real + 0.7 * forged
            with tf.GradientTape() as inner:
                inner.watch(between)
                judged = self.judge(between)
            slope = ops.norm(inner.gradient(judged, between), axis=1)
            both = ops.concatenate([self.judge(forged), self.judge(real)], axis=0)
            labels = ops.concatenate([ops.ones((rows, 1)), ops.zeros((rows, 1))], axis=0)
            loss = self.loss(labels, both) + ops.mean((slope - 1.0) ** 2)
        found = tape.gradient(loss, self.judge.trainable_weights)
        self.judge_optimizer.apply(found, self.judge.trainable_weights)
        with tf.GradientTape() as tape:
            forger_loss = -ops.mean(self.judge(self.forger(latent)))
        found = tape.gradient(forger_loss, self.forger.trainable_weights)
        self.forger_optimizer.apply(found, self.forger.trainable_weights)
        self.seen.update_state(loss)
        self.count.update_state(ops.ones((rows,)))
        return {
            "judge_loss": self.seen.result(),
            "forger_loss": forger_loss,
            "samples": self.count.result(),
        }


class Distilled(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Keras' own step with a loss and metrics of its own; a teacher that follows the student."""

    def __init__(self) -> None:
        super().__init__()
        self.student = keras.Sequential(
            [
                keras.Input((WIDTH,)),
                layers.Dense(6, "relu", kernel_regularizer="l2"),
                layers.BatchNormalization(synchronized=True),
                layers.SpectralNormalization(layers.Dense(CLASSES)),
            ]
        )
        self.teacher = keras.models.clone_model(self.student)
        self.teacher.trainable = False
        self.near = keras.metrics.SparseTopKCategoricalAccuracy(2, name="near")

    def call(self, x: Any, training: bool = False) -> Any:
        return self.student(x, training=training)

    def compute_loss(  # type: ignore[no-untyped-def]
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ) -> Any:
        taught = ops.softmax(self.teacher(x, training=False) / 3.0)
        loss = ops.mean(keras.losses.kl_divergence(taught, ops.softmax(y_pred / 3.0)))
        return loss + super().compute_loss(x, y, y_pred, sample_weight, training)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        self.near.update_state(y, y_pred)
        for old, new in zip(self.teacher.weights, self.student.weights, strict=True):
            old.assign(0.9 * old + 0.1 * new)
        return super().compute_metrics(x, y, y_pred, sample_weight)


class Pairs(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Contrastive: each sample against all others of its batch; evaluated by a step of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = keras.Sequential([keras.Input((WIDTH,)), layers.Dense(8)])
        self.head = keras.Sequential([keras.Input((8,)), layers.Dense(CLASSES)])
        self.right = keras.metrics.SparseCategoricalAccuracy(name="right")

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            first, second = (ops.normalize(self.encoder(each)) for each in (x * 1.1, x + 0.1))
            near = ops.matmul(first, ops.transpose(second)) / 0.1
            rows = ops.arange(ops.shape(x)[0])
            loss = ops.mean(
                keras.losses.sparse_categorical_crossentropy(rows, near, from_logits=True)
            )
        found = tape.gradient(loss, self.encoder.trainable_weights)
        self.optimizer.apply(found, self.encoder.trainable_weights)
        return {"contrast_loss": loss, "right": self._right(x, y)}

    def test_step(self, data: Any) -> dict[str, Any]:
        return {"right": self._right(*data)}

    def _right(self, x: Any, y: Any) -> Any:
        self.right.update_state(y, self.head(self.encoder(x)))
        return self.right.result()


class Spelled(Pairs):
    """Its step writes texts meanwhile, which XLA cannot."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        return super().train_step((x + 0.0 * tf.strings.to_number(tf.strings.as_string(x)), y))


class Sparse(layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Leaves steps out that have too little, and adds losses: a mean, and one of each sample."""

    def call(self, x: Any) -> Any:
        self.add_loss(0.1 * ops.mean(ops.abs(x)))
        self.add_loss(0.01 * ops.sum(x * x, axis=(1, 2)))
        return x

    def compute_mask(self, x: Any, mask: Any = None) -> Any:
        return x[..., 0] > 0


class Stepwise(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Its own step with Keras' loss, of which a mask leaves some steps of some samples."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        y = ops.repeat(y[:, None], WIDTH // 3, axis=1)
        with tf.GradientTape() as tape:
            found = self(x, training=True)
            loss = self.compute_loss(x, y, found)
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply(gradients, self.trainable_weights)
        return {**self.compute_metrics(x, y, found), "step_loss": loss}


class Apart(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Takes the gradient of a loss of each sample, which is that of their sum."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = layers.Dense(CLASSES)
        self.told = keras.metrics.Mean(name="told")

    def call(self, x: Any) -> Any:
        return self.scores(x)

    def train_step(self, data: Any) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            losses = self.of_each(data)
        gradients = tape.gradient(losses, self.trainable_weights)
        self.optimizer.apply(gradients, self.trainable_weights)
        return self.results_of(losses)

    def test_step(self, data: Any) -> dict[str, Any]:
        return self.results_of(self.of_each(data))

    def of_each(self, data: Any) -> Any:
        x, y, *weight = data
        losses = keras.losses.sparse_categorical_crossentropy(y, self(x), from_logits=True)
        return losses * weight[0] if weight else losses

    def results_of(self, losses: Any) -> dict[str, Any]:
        self.told.update_state(losses)
        return {"told": self.told.result()}


def _stepwise() -> Any:
    inputs = keras.Input((WIDTH,))
    steps = Sparse()(layers.Reshape((WIDTH // 3, 3))(inputs))
    scores = layers.Dense(CLASSES)(layers.LSTM(4, return_sequences=True)(steps))
    return Stepwise(inputs, scores)


def made(name: str, seed: int) -> Any:
    """The compiled model of a name, with the weights of a seed."""
    naming.reset_uids()
    keras.utils.set_random_seed(seed)
    if name == "vae":
        model = Vae()
        model.compile(optimizer=keras.optimizers.SGD(0.01))
    elif name == "gan":
        model = Gan()
        model.compile(
            keras.optimizers.Adam(1e-2, clipnorm=0.3),
            keras.optimizers.SGD(0.05),
            keras.losses.BinaryCrossentropy(from_logits=True, reduction="sum"),
        )
    elif name == "stepwise":
        model = _stepwise()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.1), loss, metrics=["accuracy"])
    elif name == "apart":
        model = Apart()
        model.compile(optimizer=keras.optimizers.SGD(0.02))
    elif name in ("pairs", "spelled"):
        model = Pairs() if name == "pairs" else Spelled()
        model.compile(optimizer=keras.optimizers.SGD(0.1))
    else:
        model = Distilled()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-2), loss, metrics=["accuracy"])
    return model
