"""The data of a run, loaded and split.

They are built in, downloaded, made from a seed, or come from an `.npz` file, images or a function.
"""

from gpu_studio.trainer.data.loading import load_data
from gpu_studio.trainer.data.values import Dataset, Split

__all__ = ["Dataset", "Split", "load_data"]
