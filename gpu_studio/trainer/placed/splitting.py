"""Split a layer's units over several devices.

Each device holds its part of the weights and computes its part of the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.placement.splitting_kinds import SPLIT_KINDS
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.placed.assignment import LayerAssignment
from gpu_studio.trainer.placed.scopes import LAYER, at
from gpu_studio.trainer.placed.variables import Joined


@dataclass(frozen=True, slots=True)
class Splittable:
    """How a kind of layer is split.

    It names the option that counts the layer's units, and the axis of the units in each of its
    weights.
    """

    units: str
    axes: Mapping[str, int]


def _splittable(kind: str) -> Splittable:
    """Return how a layer of one of `SPLIT_KINDS` is split."""
    if kind == "Dense":
        return Splittable("units", {"kernel": -1, "bias": 0})
    if kind == "Embedding":
        return Splittable("output_dim", {"embeddings": -1})
    return Splittable("filters", {"kernel": -2 if kind.endswith("Transpose") else -1, "bias": 0})


_KINDS = {kind: _splittable(kind) for kind in SPLIT_KINDS}
# These are elementwise, so a part can apply them on its device; others, like softmax, need
# the joined output.
_ELEMENTWISE = frozenset(
    {
        "linear",
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "selu",
        "celu",
        "gelu",
        "silu",
        "swish",
        "mish",
        "softplus",
    }
    | {
        "sigmoid",
        "hard_sigmoid",
        "log_sigmoid",
        "hard_silu",
        "tanh",
        "hard_tanh",
        "softsign",
        "exponential",
    }
)
_SUMS = (type(None), keras.regularizers.L1, keras.regularizers.L2, keras.regularizers.L1L2)


@dataclass(frozen=True, slots=True)
class SplitLayer:
    """The parts of a split layer, each a layer on its own device.

    Its weights appear as the wholes that the parts make up.
    """

    seat: LayerAssignment
    parts: tuple[Any, ...]
    weights: Mapping[int, Joined]
    """By the identity of the Keras variable that the joined one stands for."""

    # Keras gives it; no such layer heeds it.
    def call(self, inputs: Any, training: Any = None) -> Any:  # noqa: ARG002
        """Compute what the whole layer would compute from `inputs`."""
        outputs = []
        for number, (device, part) in enumerate(zip(self.seat.devices, self.parts, strict=True)):
            with at(device, LAYER, self.seat.number, number):
                outputs.append(part.call(inputs))
        with at(self.seat.home, LAYER, self.seat.number, "join"):
            joined = tf.concat(outputs, axis=_output_axis(self.seat.layer))
            return (
                joined if _is_elementwise(self.seat.layer) else self.seat.layer.activation(joined)
            )


def split(seat: LayerAssignment) -> SplitLayer:
    """Create the parts of a layer with its values, and free the whole.

    Raises PlanRefused for a layer that cannot be split.
    """
    layer = seat.layer
    kind = _kind(seat)
    sizes = part_sizes(getattr(layer, kind.units), len(seat.devices))
    parts = [_part(seat, kind, number, size) for number, size in enumerate(sizes)]
    weights = {}
    for name, axis in kind.axes.items():
        whole = getattr(layer, name, None)
        if whole is not None:
            joined = Joined(tuple(getattr(part, name) for part in parts), axis % len(whole.shape))
            joined.assign(keras.ops.convert_to_numpy(whole))
            weights[id(whole)] = joined
    for whole in layer.weights:
        _let_go(whole)
    return SplitLayer(seat, tuple(parts), weights)


def part_sizes(units: int, parts: int) -> list[int]:
    """Return the number of units of each part: as even as possible, larger parts first."""
    return [units // parts + (number < units % parts) for number in range(parts)]


def _kind(seat: LayerAssignment) -> Splittable:
    layer, name = seat.layer, type(seat.layer).__name__
    if name not in _KINDS or not type(layer).__module__.startswith("keras."):
        able = "Dense, Embedding and convolutions (Conv1D, Conv2D, Conv3D and their transposes)"
        raise _refused(seat, f"a {name} cannot be split: only {able} can")
    kind = _KINDS[name]
    units = getattr(layer, kind.units)
    if units < len(seat.devices):
        raise _refused(seat, f"it has {units} units, fewer than the {len(seat.devices)} devices")
    if getattr(layer, "groups", 1) > 1:
        raise _refused(seat, "its convolution is in groups")
    if any(variable.constraint is not None for variable in layer.weights):
        raise _refused(seat, "it has a constraint, which is on the whole of a weight")
    if any(type(variable.regularizer) not in _SUMS for variable in layer.weights):
        raise _refused(seat, "it has a regularizer that is no sum over the numbers of a weight")
    if getattr(layer, "lora_enabled", False) or getattr(layer, "quantization_mode", None):
        raise _refused(seat, "it is quantized or has low-rank adapters")
    return kind


def _refused(seat: LayerAssignment, why: str) -> PlanRefused:
    return PlanRefused(
        f"The layer {seat.path} cannot be split over {', '.join(seat.devices)}: {why}.",
        [f'Give it one device: distribution.placed.layers.{seat.path} = "{seat.devices[0]}".'],
    )


def _part(seat: LayerAssignment, kind: Splittable, number: int, size: int) -> Any:
    layer = seat.layer
    changed = {"name": f"{layer.name}_part{number}", kind.units: size, "activity_regularizer": None}
    if hasattr(layer, "activation") and not _is_elementwise(layer):
        changed["activation"] = None
    part = type(layer).from_config({**layer.get_config(), **changed})
    with tf.device(seat.devices[number]):
        part.build(layer.get_build_config()["input_shape"])
    part.trainable = layer.trainable
    return part


def _is_elementwise(layer: Any) -> bool:
    return getattr(getattr(layer, "activation", None), "__name__", "linear") in _ELEMENTWISE


def _output_axis(layer: Any) -> int:
    return 1 if getattr(layer, "data_format", None) == "channels_first" else -1


def _let_go(whole: Any) -> None:
    """Free the memory of a variable whose parts now hold its values."""
    with tf.device("CPU:0"):
        whole._initialize(np.zeros((), whole.dtype))  # noqa: SLF001 (Keras offers no other way)
