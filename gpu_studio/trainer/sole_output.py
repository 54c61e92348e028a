"""The only output of a model, which may be bare or in a dictionary or list of one."""

from __future__ import annotations

from typing import Any

import keras


def sole_output(outputs: Any) -> Any:
    """Return the tensor in a model's output."""
    (tensor,) = keras.tree.flatten(outputs)
    return tensor


def output_shape(model: keras.Model) -> Any:
    """Return the shape of the output for one sample, as a tuple."""
    return tuple(model.outputs[0].shape[1:])
