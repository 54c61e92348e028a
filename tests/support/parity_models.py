"""Small models with features that strategies often get wrong; each call builds a new one.

Import it only in processes with TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras.src.utils import naming

FEATURES, CLASSES = 12, 4
L: Any = keras.layers
R, ops = keras.regularizers, keras.ops


def mlp() -> Any:
    return through(L.Dense(8, activation="relu"))


def untrained() -> Any:
    """Nothing of it is trained, as a model that is only judged."""
    model = mlp()
    model.trainable = False
    return model


def penalised() -> Any:
    return through(
        L.Dense(8, activation="relu", kernel_regularizer=R.L2(0.02), bias_regularizer=R.L1(0.01))
    )


def active() -> Any:
    return through(
        L.Dense(8, activation="relu", activity_regularizer=R.L2(0.05)),
        L.ActivityRegularization(l1=0.02),
    )


def orthogonal() -> Any:
    return through(L.Dense(8, kernel_regularizer=R.OrthogonalRegularizer(0.1)))


class Latent(L.Layer):  # type: ignore[misc]
    """Half of an autoencoder's bottleneck.

    The divergence from a normal distribution as its loss, noise if asked.
    """

    def __init__(self, noise: bool = False, summed: bool = False) -> None:
        super().__init__()
        self.heads, self.noise, self.summed = L.Dense(8), noise, summed

    def call(self, x: Any) -> Any:
        mean, spread = ops.split(self.heads(x), 2, axis=-1)
        divergence = -0.05 * ops.sum(1 + spread - ops.square(mean) - ops.exp(spread), axis=-1)
        self.add_loss(0.02 * divergence if self.summed else ops.mean(divergence))
        return (
            mean + ops.exp(spread / 2) * keras.random.normal(ops.shape(mean))
            if self.noise
            else mean
        )


def divergence() -> Any:
    return through(L.Dense(8, activation="tanh"), Latent())


def divergence_of_each() -> Any:
    return through(L.Dense(8, activation="tanh"), Latent(summed=True))


def autoencoder_noise() -> Any:
    return through(L.Dense(8, activation="tanh"), Latent(noise=True))


def spectral() -> Any:
    return through(
        L.SpectralNormalization(L.Dense(8, activation="relu", kernel_regularizer=R.L2(0.02)))
    )


def spectral_convolution() -> Any:
    return through(
        L.Reshape((4, 3)),
        L.SpectralNormalization(L.Conv1D(4, 2, activation="relu"), power_iterations=2),
        L.Flatten(),
    )


class Codebook(L.Layer):  # type: ignore[misc]
    """A trained weight that also follows the mean of what it sees.

    `again` reads it after that too.
    """

    def __init__(self, again: bool = False) -> None:
        super().__init__()
        self.again = again

    def build(self, _shape: Any) -> None:
        self.code = self.add_weight(shape=(8,), initializer="ones", name="code")

    def call(self, x: Any, training: bool = False) -> Any:
        before = self.code * x + ops.square(self.code)
        if training:
            self.code.assign(0.8 * self.code + 0.2 * ops.mean(x, axis=0))
        return before + self.code if self.again else before


def codebook() -> Any:
    return through(L.Dense(8, activation="relu"), Codebook())


def codebook_read_again() -> Any:
    return through(L.Dense(8, activation="relu"), Codebook(again=True))


def normalised() -> Any:
    return through(L.Dense(8, activation="relu"), L.BatchNormalization(momentum=0.8))


def normalised_together() -> Any:
    return through(
        L.Dense(8, activation="relu"), L.BatchNormalization(momentum=0.8, synchronized=True)
    )


def frozen() -> Any:
    return through(
        L.Dense(8, trainable=False),
        L.BatchNormalization(trainable=False),
        L.Dense(8, activation="relu"),
    )


def constrained() -> Any:
    limits = {"kernel_constraint": keras.constraints.MaxNorm(0.7), "bias_constraint": "non_neg"}
    return through(L.Dense(8, activation="relu", **limits))


class Counting(L.Layer):  # type: ignore[misc]
    """Counts samples and steps, keeps the first call and the maximum, and uses it all."""

    def build(self, _shape: Any) -> None:
        def state(name: str, aggregation: str, dtype: str, start: Any = "zeros") -> Any:
            return self.add_weight(
                shape=(),
                initializer=start,
                dtype=dtype,
                trainable=False,
                aggregation=aggregation,
                name=name,
            )

        self.samples = state("samples", "sum", "float32")
        self.whole_samples = state("whole_samples", "sum", "int32")
        self.steps = state("steps", "none", "int64")
        self.called = state("called", "none", "bool")
        self.first = state("first", "only_first_replica", "float32")
        self.mean = state("mean", "mean", "float32")
        self.infinite = state(
            "infinite", "none", "float32", keras.initializers.Constant(float("-inf"))
        )

    def call(self, x: Any, training: bool = False) -> Any:
        steps, mean, samples = (
            ops.cast(each, "float32") for each in (self.steps, self.mean, self.samples)
        )
        if training:
            rows = ops.shape(x)[0]
            self.samples.assign_add(ops.cast(rows, "float32"))
            self.whole_samples.assign_add(ops.cast(rows, "int32"))
            self.steps.assign(self.steps + 1)
            self.called.assign(True)
            self.first.assign_add(1.0)
            self.mean.assign(0.5 * self.mean + 0.5 * ops.mean(x))
            self.infinite.assign(ops.maximum(self.infinite, 3.0))
        return x * (0.5 + steps / (steps + 3.0)) + mean * 0.1 + samples * 0.001


def counting() -> Any:
    return through(Counting(), L.Dense(8, activation="relu"))


class Metered(L.Layer):  # type: ignore[misc]
    """Keeps metrics of its own, which are state that is no weight: one is never updated."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = keras.metrics.Mean(name="seen")
        self.positive = keras.metrics.BinaryAccuracy(name="positive")
        self.idle = keras.metrics.Sum(name="idle")

    def call(self, x: Any) -> Any:
        self.seen.update_state(x)
        self.positive.update_state(ops.ones_like(x), x)
        return x


class Highest(keras.metrics.Metric):  # type: ignore[misc]
    """The largest number so far, which is no sum."""

    def __init__(self) -> None:
        super().__init__(name="highest")
        self.most = self.add_variable((), "zeros", name="most")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        self.most.assign(ops.maximum(self.most, ops.max(values)))

    def result(self) -> Any:
        return self.most + 0.0  # the variable itself would go on counting


class Watched(L.Layer):  # type: ignore[misc]
    """Keeps the largest number that it has seen; `heeded`, it divides by it."""

    def __init__(self, heeded: bool = False) -> None:
        super().__init__()
        self.highest = keras.metrics.Sum(name="sum") if heeded else Highest()
        self.heeded = heeded

    def call(self, x: Any) -> Any:
        self.highest.update_state(ops.abs(x))
        return x / (1 + self.highest.result()) if self.heeded else x


def watched() -> Any:
    return through(L.Dense(8, activation="relu"), Watched())


def heeded() -> Any:
    return through(L.Dense(8, activation="relu"), Watched(heeded=True))


def metered() -> Any:
    return through(Metered(), L.Dense(8, activation="relu"))


def dictionary() -> Any:
    inputs = keras.Input((FEATURES,))
    return keras.Model(inputs, {"scores": L.Dense(CLASSES)(L.Dense(8, activation="relu")(inputs))})


def listed() -> Any:
    inputs = keras.Input((FEATURES,))
    return keras.Model(inputs, [L.Dense(CLASSES)(L.Dense(8, activation="relu")(inputs))])


def tied() -> Any:
    inputs = keras.Input((FEATURES,))
    twice = L.Dense(8, activation="tanh")
    x = twice(L.Dense(8)(inputs))
    return keras.Model(inputs, L.Dense(CLASSES)(L.Add()([twice(x), x])))


def nested() -> Any:
    inner = keras.Sequential([keras.Input((8,)), L.Dense(8, activation="relu"), L.Dense(8)])
    return through(L.Dense(8), inner, inner)


class Own(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name="own")
        self.last, self.first = L.Dense(CLASSES), L.Dense(8, activation="relu")

    def call(self, x: Any) -> Any:
        return self.last(self.first(x) * 0.5)


def own() -> Any:
    return through(Own(), end=False)


def embedded() -> Any:
    """Rows of an embedding, whose gradients are sparse."""
    return through(
        L.Discretization(bin_boundaries=[-1.0, 0.0, 0.5, 1.0]),
        L.Embedding(5, 3),
        L.Flatten(),
        L.Dense(8, "relu"),
    )


class Places(L.Layer):  # type: ignore[misc]
    """Adds a row for each place, which is looked up without regard to the samples."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = L.Embedding(4, 3)

    def call(self, x: Any) -> Any:
        return x + self.rows(ops.arange(4))


def positions() -> Any:
    return through(L.Reshape((4, 3)), Places(), L.Flatten(), L.Dense(8, "relu"))


def recurrent() -> Any:
    return through(L.Reshape((4, 3)), L.GRU(5))


def forgetful() -> Any:
    """Draws numbers, and looks up rows of a table, beside its loops."""
    words = L.Discretization(bin_boundaries=[-1.0, -0.3, 0.3, 1.0])
    return through(words, L.Embedding(5, 4), L.GRU(5, dropout=0.2), L.Dropout(0.2))


def attentive() -> Any:
    inputs = keras.Input((FEATURES,))
    x = L.Reshape((4, 3))(inputs)
    x = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 3)(x, x)]))
    return keras.Model(inputs, L.Dense(CLASSES)(L.Flatten()(x)))


def convolutional() -> Any:
    return through(
        L.Reshape((4, 3, 1)),
        L.Conv2D(4, 2, activation="relu"),
        L.GroupNormalization(2),
        L.Flatten(),
    )


def softmax() -> Any:
    return through(L.Dense(8, activation="relu"), L.Dense(CLASSES, activation="softmax"), end=False)


def dropping() -> Any:
    return through(L.Dense(8, activation="relu"), L.Dropout(0.3), L.GaussianNoise(0.2))


class Spelled(L.Layer):  # type: ignore[misc]
    """Writes its numbers as texts meanwhile, which XLA cannot."""

    def call(self, x: Any) -> Any:
        return x + 0.0 * tf.strings.to_number(tf.strings.as_string(x))


def spelled() -> Any:
    return through(L.Dense(8, activation="relu"), Spelled())


class Noise(L.Layer):  # type: ignore[misc]
    """Twice noise without a seed of its own.

    The second is drawn by another state than the first.
    """

    def call(self, x: Any, training: bool = False) -> Any:
        if not training:
            return x
        return x + 0.3 * keras.random.normal(ops.shape(x)) * keras.random.uniform(ops.shape(x))


def noise() -> Any:
    return through(Noise(), L.Dense(8, activation="relu"))


class PureNoise(L.Layer):  # type: ignore[misc]
    """Its loss is the mean of noise alone.

    It keeps the mean of the square, and that mean of all and of the first.
    """

    def build(self, _shape: Any) -> None:
        def state(name: str, aggregation: str) -> Any:
            return self.add_weight(
                shape=(), initializer="zeros", trainable=False, aggregation=aggregation, name=name
            )

        self.square, self.all, self.first = (
            state("square", "mean"),
            state("all", "mean"),
            state("first", "only_first_replica"),
        )

    def call(self, x: Any) -> Any:
        drawn = keras.random.normal((ops.shape(x)[0], 500))
        self.add_loss(ops.mean(drawn))
        self.all.assign(ops.mean(drawn))
        self.first.assign(ops.mean(drawn))
        self.square.assign(ops.mean(ops.square(drawn)))
        return x


def pure_noise() -> Any:
    """Outputs that never change, the same for all samples: only the noise's loss does."""
    zero = {"kernel_initializer": "zeros", "use_bias": False, "trainable": False}
    last = L.Dense(CLASSES, **zero)
    return through(PureNoise(), L.Dense(1), last, end=False)


def shaped(*shape: int, end: str | None = None, units: int = 0) -> Any:
    """Outputs of this shape; with `units`, a layer makes so many of each of its rows."""
    x = inputs = keras.Input((FEATURES,))
    x = L.Reshape(shape)(L.Dense(math.prod(shape), activation=None if units else end)(x))
    return keras.Model(inputs, L.Dense(units, activation=end)(x) if units else x)


def yes() -> Any:
    return shaped(1, end="sigmoid")


def logit() -> Any:
    return shaped(1)


class Inside(keras.Model):  # type: ignore[misc]
    """A sigmoid that only its outputs show."""

    def __init__(self) -> None:
        super().__init__(name="inside")
        self.last = L.Dense(1)

    def call(self, x: Any) -> Any:
        return ops.sigmoid(self.last(x))


def yes_inside() -> Any:
    return through(Inside(), end=False)


def labels() -> Any:
    return shaped(5, end="sigmoid")


def vector() -> Any:
    return shaped(3)


def shares() -> Any:
    return shaped(4, units=0, end="softmax")


def scores() -> Any:
    return shaped(4)


def steps() -> Any:
    return shaped(5, 3, units=6)


def places() -> Any:
    return shaped(2, 3, 2, units=4, end="softmax")


def spots() -> Any:
    return shaped(2, 3, 1, end="sigmoid")


def picture() -> Any:
    return shaped(2, 3, 2)


def picture_in_0_1() -> Any:
    return shaped(2, 3, 2, end="sigmoid")


def masked() -> Any:
    """Steps of zeros do not count."""
    inputs = keras.Input((FEATURES,))
    x = L.Masking(0.0)(L.Reshape((4, 3))(ops.relu(inputs - 0.7)))
    return keras.Model(inputs, L.Dense(6)(L.LSTM(4, return_sequences=True)(x)))


def through(*layers: Any, end: bool = True) -> Any:
    """A model of layers one after another, as a graph."""
    x = inputs = keras.Input((FEATURES,))
    for layer in layers:
        x = layer(x)
    return keras.Model(inputs, L.Dense(CLASSES)(x) if end else x)


def made(name: str, seed: int) -> Any:
    """The model `name` with the weights that belong to the seed."""
    naming.reset_uids()
    keras.utils.set_random_seed(seed)
    maker: Callable[[], Any] = globals()[name]
    return maker()
