"""What a session tells of its devices, of its model's layers, and of what it measures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.contract import events
from gpu_studio.trainer import strategies


def devices_event(logical: list[events.LogicalDevice], spread: strategies.Spread) -> events.Devices:
    """TensorFlow's logical devices, and what the strategy makes of them."""
    build_info = tf.sysconfig.get_build_info()
    return events.Devices(
        logical=logical,
        replicas=list(spread.replicas),
        strategy=spread.name,
        all_reduce=spread.all_reduce,
        parameter_device=spread.parameter_device,
        tensorflow=tf.__version__,
        keras=keras.__version__,
        cuda=build_info.get("cuda_version"),
    )


def layer_event(layer: Any) -> events.Layer:
    """A layer of the built model, and how large it is."""
    shape = getattr(getattr(layer, "output", None), "shape", ())
    size = sum(int(np.prod(v.shape)) * tf.as_dtype(v.dtype).size for v in layer.weights)
    text = " × ".join(str(axis) for axis in shape[1:])
    return events.Layer(
        name=layer.name,
        kind=type(layer).__name__,
        output_shape=text,
        parameters=sum(int(np.prod(v.shape)) for v in layer.weights),
        bytes=size,
    )


def measured_events(
    loss: Any, meters: Any, parts: int, *, placed: bool
) -> Iterator[events.Log | events.Warned]:
    """Metrics of several numbers, and what differs in the `parts` that a batch comes in.

    `loss` is the Objective. Raises PlanRefused for what cannot be right in parts.
    """
    for said in meters.words:
        yield events.Log(message=said)
    way = "Set distribution.placed.micro_batches to 1" if placed else "Train on one device"
    for said in loss.cautions(parts, placed=placed):
        yield events.Warned(message=said, suggestion=f"{way}: there it is that of a whole batch.")
