"""Linear regression by gradient descent."""

from __future__ import annotations

import keras


def linear(x: keras.KerasTensor) -> keras.KerasTensor:
    """A sample as a row of numbers, which the layer `outputs` takes to y = w · x + b.

    The weights of that layer are the slope and the intercept.
    """
    if len(x.shape) > 2:
        x = keras.layers.Flatten(name="flatten")(x)
    return x
