"""Models of every form that can be placed, and the tutorials' way of placing one.

Import it only in processes with TensorFlow.
"""

from __future__ import annotations

from typing import Any

import keras

FEATURES, CLASSES = 12, 4
PLACES = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")

_L = keras.layers


def sequential() -> Any:
    return keras.Sequential(
        [keras.Input((FEATURES,)), _dense("first"), _dense("second"), _outputs()]
    )


def branched() -> Any:
    """Two branches, a skip, and bare operations between layers."""
    inputs = keras.Input((FEATURES,))
    left, right = _dense("left")(inputs), _dense("right")(inputs)
    joined = _L.Concatenate(name="joined")([left * 2.0, right + left])
    return keras.Model(inputs, _outputs()(_L.Add(name="skip")([_dense("after")(joined), left])))


def shared() -> Any:
    inputs = keras.Input((FEATURES,))
    twice = _dense("twice")
    x = _dense("before")(inputs)
    return keras.Model(inputs, _outputs()(_L.Add(name="sum")([twice(x), twice(twice(x))])))


def nested() -> Any:
    """A model in a model in a model, one of them called twice."""
    inner = keras.Sequential([keras.Input((8,)), _dense("one"), _dense("two")], name="inner")
    between = keras.Input((8,))
    middle = keras.Model(between, _dense("three")(inner(between)), name="middle")
    inputs = keras.Input((FEATURES,))
    x = _dense("before")(inputs)
    return keras.Model(inputs, _outputs()(_L.Add(name="sum")([middle(x), inner(x)])))


class Subclassed(keras.Model):  # type: ignore[misc]
    """Layers under attributes in another order than they are called in, one of them a model."""

    def __init__(self) -> None:
        super().__init__(name="body")
        self.last = _L.Dense(CLASSES, name="last")
        self.first = _dense("first")
        self.block = keras.Sequential(
            [keras.Input((8,)), _dense("one"), _dense("two")], name="block"
        )
        self.dropped = _L.Dropout(0.2, name="dropped")

    def call(self, x: Any, training: bool = False) -> Any:
        x = self.first(x)
        return self.last(self.dropped(self.block(x) * 0.5, training=training) + x)


def subclassed() -> Any:
    """It is called once, so that it knows its shapes.

    Inside of a graph, so that a run can ask for them.
    """
    inputs = keras.Input((FEATURES,))
    return keras.Model(inputs, Subclassed()(inputs))


def normalised() -> Any:
    inputs = keras.Input((FEATURES,))
    x = _L.BatchNormalization(momentum=0.8, name="norm")(_dense("first")(inputs))
    return keras.Model(inputs, _outputs()(x))


def dropping() -> Any:
    """Dropout, noise, and penalties on weights and activities."""
    inputs = keras.Input((FEATURES,))
    x = _L.Dense(
        8, activation="relu", kernel_regularizer="l2", activity_regularizer="l1", name="first"
    )(inputs)
    x = _L.GaussianNoise(0.1, name="noise")(_L.Dropout(0.3, name="dropped")(x))
    return keras.Model(inputs, _outputs()(_dense("second")(x)))


def recurrent() -> Any:
    """Loops of the graph inside of layers."""
    inputs = keras.Input((FEATURES,))
    x = _L.Bidirectional(_L.GRU(5), name="both")(
        _L.LSTM(6, return_sequences=True, name="lstm")(_rows(inputs))
    )
    return keras.Model(inputs, _outputs()(x))


def splittable() -> Any:
    """One of each kind that can be split.

    Convolutions of every rank, an embedding, dense layers.
    """
    inputs = keras.Input((FEATURES,))
    x = _L.Conv1D(5, 3, padding="same", activation="relu", name="conv1")(_rows(inputs))
    x = _L.Conv1DTranspose(5, 2, name="turned1")(x)
    x = _L.Conv2D(4, 3, padding="same", use_bias=False, name="conv2")(
        _L.Reshape((5, 5, 1), name="square")(x)
    )
    x = _L.Conv3D(3, 2, activation="tanh", name="conv3")(_L.Reshape((5, 5, 4, 1), name="cube")(x))
    looked = _L.Embedding(7, 5, name="embedding")(
        _L.Discretization(bin_boundaries=[0.0, 0.5, 1.0], name="bins")(inputs)
    )
    x = _L.Concatenate(name="joined")(
        [_L.Flatten(name="flat")(x), _L.Flatten(name="flat_looked")(looked)]
    )
    x = _L.Dense(9, activation="softmax", kernel_regularizer="l2", name="gate")(x)
    return keras.Model(inputs, _outputs()(x))


def tutorial() -> Any:
    """As every tutorial places layers.

    The names are those by which the proof knows its layers: `placed.0.0`.
    """
    x = inputs = keras.Input((FEATURES,))
    for number, place in enumerate(PLACES):
        with keras.device(place):
            x = _L.Dense(CLASSES if number == 3 else 8, name=f"placed.{number}.0")(x)
    return keras.Model(inputs, x)


def _rows(inputs: Any) -> Any:
    return _L.Reshape((4, 3), name="rows")(inputs)


def _dense(name: str) -> Any:
    return _L.Dense(8, activation="relu", name=name)


def _outputs() -> Any:
    return _L.Dense(CLASSES, name="outputs")
