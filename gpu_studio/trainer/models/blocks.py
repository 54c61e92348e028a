"""Pieces that several models are made of."""

from __future__ import annotations

from typing import Any

import keras


def flat(x: Any) -> Any:
    """One row of numbers a sample; a sample that is a row already stays as it is."""
    return x if len(x.shape) <= 2 else keras.layers.Flatten(name="flatten")(x)


def dropped(x: Any, rate: float, name: str) -> Any:
    """`x` with a share of `rate` left out while training; no layer at all for a rate of 0."""
    return keras.layers.Dropout(rate, name=name)(x) if rate > 0 else x


def normed(x: Any, name: str) -> Any:
    """Batch normalisation whose statistics follow the last tens of steps.

    With Keras' default momentum of 0.99 they would still remember their initial values after the few hundred steps of
    a short run, and spoil its evaluation.
    """
    return keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=name)(x)


def outputs(x: Any, units: int) -> Any:
    """The last layer: one number a class (logits), or the value.

    It is float32 also under mixed precision, so that the loss is computed in float32.
    """
    return keras.layers.Dense(units, dtype="float32", name="outputs")(x)
