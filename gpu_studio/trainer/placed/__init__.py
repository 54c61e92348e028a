"""The strategy `placed`, which gives each layer a device of its own.

The layer's forward pass, backward pass and update all run on that device.
"""

from gpu_studio.trainer.placed.placing import PlacedModel, place
from gpu_studio.trainer.placed.program import PlacedProgram

__all__ = ["PlacedModel", "PlacedProgram", "place"]
