"""The models of a run: built-in, one small file a family, or from a `.keras` file."""

from gpu_studio.trainer.models.building import build_model

__all__ = ["build_model"]
