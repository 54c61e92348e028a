"""Dense layers: 784-256-256-256-10 on digits with the default options."""

from __future__ import annotations

from collections.abc import Sequence

import keras


def mlp(
    x: keras.KerasTensor,
    *,
    hidden: Sequence[int],
    activation: str,
    dropout: float,
) -> keras.KerasTensor:
    """Dense layers, one after another, with `hidden` units each.

    Samples of any shape are flattened.
    """
    if len(x.shape) > 2:
        x = keras.layers.Flatten(name="flatten")(x)
    for index, units in enumerate(hidden):
        suffix = f"_{index}" if index else ""
        x = keras.layers.Dense(units, activation=activation, name=f"dense{suffix}")(x)
        if dropout > 0:
            x = keras.layers.Dropout(dropout, name=f"dropout{suffix}")(x)
    return x
