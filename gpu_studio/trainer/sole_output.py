"""The only output of a model, whether it gives it bare or in a dictionary or list of one."""

from __future__ import annotations

from typing import Any

import keras


def sole_output(outputs: Any) -> Any:
    """The tensor in what a model gave."""
    (tensor,) = keras.tree.flatten(outputs)
    return tensor


def output_shape(model: keras.Model) -> Any:
    """The shape of the output for one sample, a tuple."""
    return tuple(model.outputs[0].shape[1:])
