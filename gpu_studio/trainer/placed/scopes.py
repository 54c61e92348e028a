"""Place operations while the steps are traced, and name them so that their layer can be recognised.

`tf.device` around a layer's `call` places its forward pass; the gradients are colocated with it.
What lies between the layers (casts, `x + y`, masks, the loss) follows its inputs, so that nothing
is sent to another device without need.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

HOST = "/device:CPU:0"
LAYER, UPDATE = "placed", "update"


@contextmanager
def at(device: str, kind: str, number: int, part: int | str = 0) -> Iterator[None]:
    """Put operations on `device`, under a name that says which layer they belong to."""
    with tf.device(device), tf.name_scope(f"{kind}.{number}.{part}"):
        yield


@contextmanager
def following_inputs() -> Iterator[None]:
    """Place each remaining operation where its first input is.

    Operations without inputs stay on the host.
    """
    # The old form of tf.device accepts a function, but only while a graph is built, as here.
    with tf.compat.v1.device(_Follower()):
        yield


class _Follower:
    """Decides where an operation goes.

    A resource is known by the handle that the graph captured.
    """

    def __init__(self) -> None:
        self._handles: dict[Any, str] = {}

    def __call__(self, operation: Any) -> str:
        if operation.device:
            return str(operation.device)
        return next((device for x in operation.inputs if (device := self._device(x))), HOST)

    def _device(self, tensor: Any) -> str:
        if tensor.dtype != tf.resource or tensor.op.type != "Placeholder":
            return str(tensor.device)
        key = tensor.ref()
        if key not in self._handles:
            self._handles[key] = _device_of_handle(tensor)
        return self._handles[key]


def _device_of_handle(tensor: Any) -> str:
    while not hasattr(tensor, "numpy") and tensor.op.type == "Placeholder":
        outside = next((outer for outer, inner in tensor.graph.captures if inner is tensor), None)
        if outside is None:
            return ""
        tensor = outside
    return str(tensor.device)
