"""The strategy `placed`: each layer's forward pass, its backward pass and its update on the layer's own device."""

from gpu_studio.trainer.placed.placing import PlacedModel, place
from gpu_studio.trainer.placed.program import PlacedProgram

__all__ = ["PlacedModel", "PlacedProgram", "place"]
