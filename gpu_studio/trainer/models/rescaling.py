"""Whether a model scales its samples itself, as `Rescaling(1 / 255)` and Keras' `preprocess_input` do.

It is looked for in the traced model, where a layer, an operation and a model within a model are all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

_PASSED = frozenset(
    {
        "Cast",
        "ConcatV2",
        "ExpandDims",
        "GatherV2",
        "Identity",
        "MirrorPad",
        "Pack",
        "Pad",
        "PadV2",
        "Reshape",
        "ResizeBicubic",
        "ResizeBilinear",
        "ResizeNearestNeighbor",
        "ReverseV2",
        "ScaleAndTranslate",
        "Squeeze",
        "StridedSlice",
        "Transpose",
    }
)
"""Operations that leave the size of the numbers as it is."""
_LEAST_DIVISOR = 127
_LEAST_MEAN = 50
"""`preprocess_input` in the manner of Caffe subtracts the mean brightness of each channel, about 104 to 124."""


def own_scaling(model: keras.Model, shape: tuple[int, ...]) -> str:
    """What the model does to make small numbers of bytes, as a verb with its object; empty if it does no such thing.

    A sample has this `shape`, and is float32.
    """
    try:
        graph = _traced(model, shape)
    except Exception:  # noqa: BLE001  (no such words are worth a run: what is wrong with the model shows when it trains)
        return ""
    return next(filter(None, map(_scaling, _first(graph.inputs[0]))), "")


def _traced(model: keras.Model, shape: tuple[int, ...]) -> Any:
    called = tf.function(lambda samples: model(samples, training=False), autograph=False)
    return called.get_concrete_function(tf.TensorSpec((None, *shape), tf.float32))


def _first(tensor: Any) -> Iterator[tuple[Any, Any]]:
    """The first operations that compute with the samples, each with the tensor of samples that it takes."""
    for operation in tensor.consumers():
        if operation.type in _PASSED:
            yield from _first(operation.outputs[0])
        else:
            yield operation, tensor


def _scaling(found: tuple[Any, Any]) -> str:
    operation, samples = found
    if len(operation.inputs) != 2:
        return ""
    left, right = operation.inputs
    other = _constant(right if left is samples else left)
    if other is None or not other.size:
        return ""
    size = float(np.abs(other).max())
    if operation.type == "Mul" and 0 < size <= 1 / _LEAST_DIVISOR:
        return f"divides its samples by {1 / size:g}"
    if operation.type in ("RealDiv", "DivNoNan") and left is samples and size >= _LEAST_DIVISOR:
        return f"divides its samples by {size:g}"
    if operation.type in ("Sub", "AddV2", "Add", "BiasAdd") and size >= _LEAST_MEAN:
        return f"takes about {size:.0f} from its samples"
    return ""


def _constant(tensor: Any) -> Any:
    if tensor.op.type in ("Reshape", "Squeeze", "Cast", "ExpandDims", "Identity"):
        return _constant(tensor.op.inputs[0])
    value = tf.get_static_value(tensor)
    return value if value is not None and np.issubdtype(np.asarray(value).dtype, np.number) else None
