"""The data of a run as plain arrays, ready to be batched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Task = Literal["classes", "values"]
Array = NDArray[Any]
Images = NDArray[np.float32]
_LOOKED_AT = 64
"""Samples that show between which numbers all are."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Samples and their targets; the first axis of both counts the samples.

    `x` is float32, images scaled to 0…1 with a channel axis, or int32 token ids of shape (samples, length). Images from
    files stay uint8, a quarter of that, until they are wanted: what a model is given of them is `seen`.
    `y` is int32 class ids of shape (samples,), or float32 values of shape (samples, 1).
    """

    x: Array
    y: Array

    def seen(self, rows: Any) -> Array:
        """The samples in these rows (anything that NumPy takes for them) as a model sees them: no bytes, but 0…1."""
        taken: Array = self.x[rows]
        return taken / np.float32(255) if taken.dtype == np.uint8 else taken

    @property
    def pixels(self) -> bool:
        """Whether the samples are bytes, which a model sees divided by 255."""
        return self.x.dtype == np.uint8

    def range(self) -> tuple[float, float]:
        """The lowest and the highest number that a model sees of the first samples."""
        first = self.seen(slice(_LOOKED_AT))
        return float(first.min()), float(first.max())

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Everything that a run trains, validates and tests on. A split that the plan leaves out is None.

    `classes` is the number of classes (the largest class id + 1); None where `task` is "values". `class_names` are what
    they are called, empty where they have no names.
    """

    name: str
    train: Split
    validation: Split | None
    test: Split | None
    task: Task
    classes: int | None
    class_names: tuple[str, ...] = ()

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """The shape of one sample, without the samples' axis."""
        return tuple(int(size) for size in self.train.x.shape[1:])

    @property
    def tokens(self) -> bool:
        """Whether a sample is a row of token ids rather than of measured values."""
        return self.train.x.dtype != np.uint8 and bool(np.issubdtype(self.train.x.dtype, np.integer))

    @property
    def outputs(self) -> int:
        """How many outputs a model of these data has: one a class, or one for a value."""
        return self.classes if self.classes is not None else 1
