"""The models of a run: built-in, one file each, or of the user's own."""

from gpu_studio.trainer.models.building import build_model

__all__ = ["build_model"]
