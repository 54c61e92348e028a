"""Keras' callbacks in a run: made from the plan, called as in `fit`, kept in checkpoints."""

from gpu_studio.trainer.callbacks.hooks import HookError, Hooks
from gpu_studio.trainer.callbacks.made import make_callbacks

__all__ = ["HookError", "Hooks", "make_callbacks"]
