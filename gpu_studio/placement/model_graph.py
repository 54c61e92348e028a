"""A model as placement sees it: its layers in the order they run, what each costs, and which feeds which.

Bytes and FLOPs that depend on the batch are per sample; the caller multiplies by the batch (or micro-batch).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer that can be placed, by the name that `distribution.placed.layers` uses.

    A layer of a nested model has the path `outer/inner`. A layer that is called several times is here once, with the
    inputs of all calls. Input layers are left out: they hold and compute nothing.
    """

    name: str
    kind: str
    """The Keras class, such as `Dense`."""
    inputs: tuple[str, ...] = ()
    """Names of the layers whose output it takes; those that take the model's input have none."""
    output_shape: tuple[int | None, ...] = ()
    """Of the first output, without the batch axis."""
    parameters: int = 0
    trainable: int = 0
    weight_bytes: int = 0
    trainable_bytes: int = 0
    output_bytes: int = 0
    """Of all outputs of all calls, per sample: what crosses when the next layer is elsewhere."""
    kept_bytes: int = 0
    """What the forward pass keeps for the backward pass, per sample."""
    flops_forward: float = 0.0
    flops_backward: float = 0.0
    normalises_apart: bool = False
    """Whether several replicas normalise each its own part of the batch, so that their losses are not one device's."""


@dataclass(frozen=True, slots=True)
class ModelGraph:
    """The layers of a model, each after those that it takes its input from."""

    name: str
    layers: tuple[Layer, ...]
    input_shape: tuple[int | None, ...] = ()
    output_shape: tuple[int | None, ...] = ()
    input_bytes: int = 0
    """Of one sample."""

    @property
    def parameters(self) -> int:
        """Weights of all layers, in numbers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def trainable(self) -> int:
        """Weights that training changes, in numbers."""
        return sum(layer.trainable for layer in self.layers)
