"""A model as placement sees it: its layers in execution order, their costs, and their connections.

Bytes and FLOPs that depend on the batch are per sample; the caller multiplies by the batch (or
micro-batch).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphLayer:
    """One layer that can be placed, by the name that `distribution.placed.layers` uses.

    A layer of a nested model has the path `outer/inner`. A layer that is called several times
    appears once, with the inputs of all calls. Input layers are left out: they hold and compute
    nothing.
    """

    name: str
    kind: str
    """The Keras class, such as `Dense`."""
    inputs: tuple[str, ...] = ()
    """Names of the layers whose output it takes; none if it takes the model's input."""
    output_shape: tuple[int | None, ...] = ()
    """Of the first output, without the batch axis."""
    parameters: int = 0
    trainable: int = 0
    weight_bytes: int = 0
    trainable_bytes: int = 0
    output_bytes: int = 0
    """Of all outputs of all calls, per sample: what is sent if the next layer is elsewhere."""
    kept_bytes: int = 0
    """What the forward pass keeps for the backward pass, per sample."""
    flops_forward: float = 0.0
    flops_backward: float = 0.0
    normalises_apart: bool = False
    """Whether replicas normalise their own part of the batch, so that losses depend on their
    number.
    """


@dataclass(frozen=True, slots=True)
class ModelGraph:
    """The layers of a model, each after its inputs."""

    name: str
    layers: tuple[GraphLayer, ...]
    input_shape: tuple[int | None, ...] = ()
    output_shape: tuple[int | None, ...] = ()
    input_bytes: int = 0
    """Of one sample."""

    @property
    def feeds(self) -> dict[str, tuple[str, ...]]:
        """The names of the layers, each with its inputs' names."""
        return {layer.name: layer.inputs for layer in self.layers}

    @property
    def parameters(self) -> int:
        """The number of weights in all layers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def trainable(self) -> int:
        """The number of weights that training changes."""
        return sum(layer.trainable for layer in self.layers)
