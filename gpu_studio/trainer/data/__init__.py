"""The data of a run: built-in, downloaded, made from a seed, from an `.npz` file, images or a function; split up."""

from gpu_studio.trainer.data.loading import load_data
from gpu_studio.trainer.data.values import Dataset, Split

__all__ = ["Dataset", "Split", "load_data"]
