"""Which layer an error is about: by the names of operations, by whose code was running, by the shape of a tensor."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from gpu_studio.runs.failures.failure_texts import layer_of, operations_in


def culprit(error: BaseException, layers: Sequence[Any], shape: tuple[int, ...] | None = None) -> str | None:
    """The name of the layer at fault; None if nothing tells it. `shape` is that of the tensor it is about."""
    names = {layer.name for layer in layers}
    by_name = (layer_of(operation, names) for operation in operations_in(str(error)))
    return next(filter(None, by_name), None) or _in_frames(error) or _of_shape(layers, shape)


def _in_frames(error: BaseException) -> str | None:
    """The innermost layer whose code was running, as when its weights were made."""
    keras = sys.modules.get("keras")
    if keras is None:
        return None
    layers = [layer for frame in _frames(error) for layer in _objects(frame) if isinstance(layer, keras.layers.Layer)]
    inner = [layer for layer in layers if not isinstance(layer, keras.Model)]
    return str(inner[-1].name) if inner else None


def _frames(error: BaseException) -> Iterator[FrameType]:
    yield from (frame for frame, _line in traceback.walk_tb(error.__traceback__))


def _objects(frame: FrameType) -> Iterator[Any]:
    """What a method is called on: `self`, or, in Keras' wrapper around it, the first of its arguments."""
    yield frame.f_locals.get("self")
    arguments = frame.f_locals.get("args")
    if isinstance(arguments, tuple) and arguments:
        yield arguments[0]


def _of_shape(layers: Sequence[Any], shape: tuple[int, ...] | None) -> str | None:
    """The one layer that has a weight of this shape: gradients and the optimizer's variables have it too."""
    owners = [layer.name for layer in layers if any(tuple(weight.shape) == shape for weight in layer.weights)]
    return str(owners[0]) if shape and len(owners) == 1 else None
