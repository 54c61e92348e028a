"""What users should know about a model of their own.

How it is trained, or that it rescales samples.

A run reports it and trains the model all the same. Whether a model scales its samples itself, as
`Rescaling(1 / 255)` and Keras' `preprocess_input` do, is found in the traced model, where layers,
operations and nested models look alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.placement.plan_facts import SCALED_AGAIN, ModelNote
from gpu_studio.plan.references import reference
from gpu_studio.plan.values import ModelSettings
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.models.own_models import compiled_with

SMALL = 1.0
"""Samples within ±1 need no scaling. Bytes that nobody has scaled go up to 255."""


def notes_on(
    named: ModelSettings, model: keras.Model, dataset: Dataset, seen: tuple[float, float]
) -> tuple[ModelNote, ...]:
    """Return the notes on `model`, built for these data as the plan's part `named` says.

    A built-in model has none. `seen` is the lowest and the highest number that the model sees.
    """
    if named.name is not None:
        return ()
    name = PurePath(name_of(named)).name
    return (*_compiled(name, model), *_scaled_again(name, model, dataset, seen))


def name_of(named: ModelSettings) -> str:
    """Return the model's name for a reader.

    `models.py:build_model`, a file's or a built-in model's.
    """
    code = reference(named.python) if named.python else None
    return f"{code.file_name}:{code.function}" if code else named.name or named.file or "the model"


def _compiled(name: str, model: keras.Model) -> Iterator[ModelNote]:
    found = compiled_with(model)
    if found:
        yield ModelNote(
            "compiled model",
            f"{name} is compiled with {found}, which does not count here.",
            "It is trained with the plan's optimizer, loss and metrics: set those to what you mean.",
        )


def _scaled_again(
    name: str, model: keras.Model, dataset: Dataset, seen: tuple[float, float]
) -> Iterator[ModelNote]:
    low, high = seen
    if dataset.tokens or low == high or max(-low, high) > SMALL:
        return
    found = own_scaling(model, dataset.sample_shape)
    if found:
        yield ModelNote(
            SCALED_AGAIN,
            f"{name} {found}, but they are in {low:.2g}…{high:.2g} already.",
            "It sees nearly the same number everywhere, and learns little. Leave that out of the "
            "model, or give it the "
            'bytes as they are: data.options.scale = "none" for an .npz file or a folder of images.',
        )


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
"""`preprocess_input` in the manner of Caffe subtracts the mean brightness of each channel, about
104 to 124.
"""


def own_scaling(model: keras.Model, shape: tuple[int, ...]) -> str:
    """Return what the model does to scale bytes down, as a verb with its object; empty if nothing.

    A sample has this `shape`, and is float32.
    """
    try:
        graph = _traced(model, shape)
    # A note must not cost a run: what is wrong with the model shows when it trains.
    except Exception:  # noqa: BLE001
        return ""
    return next(filter(None, map(_scaling, _first(graph.inputs[0]))), "")


def _traced(model: keras.Model, shape: tuple[int, ...]) -> Any:
    called = tf.function(lambda samples: model(samples, training=False), autograph=False)
    return called.get_concrete_function(tf.TensorSpec((None, *shape), tf.float32))


def _first(tensor: Any) -> Iterator[tuple[Any, Any]]:
    """Return the first operations on the samples, each with the tensor of samples it takes."""
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
    return (
        value if value is not None and np.issubdtype(np.asarray(value).dtype, np.number) else None
    )
