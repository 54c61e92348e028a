"""Failures explained: what happened, where, why, what to do, and changes of the plan that may help."""

from gpu_studio.trainer.failures.explaining import explain
from gpu_studio.trainer.failures.scene import Scene
from gpu_studio.trainer.failures.sizes import binary_size

__all__ = ["Scene", "binary_size", "explain"]
