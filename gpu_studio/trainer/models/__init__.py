"""The models of a run: built-in, one small file a family, from a `.keras` file, or of a Python function."""

from gpu_studio.trainer.models.building import build_model

__all__ = ["build_model"]
