"""Keras' callbacks in a run: made from the plan, called as in `fit`, kept in checkpoints."""

from gpu_studio.trainer.callbacks.hooks import HookError, Hooks
from gpu_studio.trainer.callbacks.made import make_callbacks
from gpu_studio.trainer.callbacks.written_once import called_by_each

__all__ = ["HookError", "Hooks", "called_by_each", "make_callbacks"]
