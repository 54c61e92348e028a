"""The data of a run: built-in, downloaded, made from a seed, from an `.npz` file or a function; split into parts."""

from gpu_studio.trainer.data.loading import load_data
from gpu_studio.trainer.data.values import Dataset, Split

__all__ = ["Dataset", "Split", "load_data"]
