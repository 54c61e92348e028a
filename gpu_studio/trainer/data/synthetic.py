"""Data made from a seed: classes that can be learned, of any shape and size, and a line with noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gpu_studio.trainer.data.values import Array, Images, Split

# Noise is made and added in pieces of about this many numbers, so that the samples are the only large array.
_PIECE = 1 << 22
_NOISE = 0.25


def synthetic(shape: Sequence[int], classes: int, samples: int, seed: int) -> Split:
    """Samples around one prototype a class: x float32 (samples, *shape), y int32 (samples,).

    Prototypes are uniform in 0…1 and the noise is normal with a standard deviation of 0.25, so that a model learns
    the classes within a few epochs but not from one pixel. Class ids take turns, and so every class is there if
    there are enough samples. Memory is that of `x` and a few MiB.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    prototypes = generator.random((classes, math.prod(shape)), np.float32)
    y = np.arange(samples, dtype=np.int32) % classes
    x = np.empty((samples, math.prod(shape)), np.float32)
    _fill(x, prototypes, y, generator)
    return Split(x.reshape(samples, *shape), y)


def _fill(x: Images, prototypes: Images, y: Array, generator: np.random.Generator) -> None:
    rows = max(1, _PIECE // max(1, x.shape[1]))
    for first in range(0, len(x), rows):
        piece = x[first : first + rows]
        generator.standard_normal(dtype=np.float32, out=piece)
        piece *= _NOISE
        piece += prototypes[y[first : first + rows]]


def regression(samples: int, slope: float, intercept: float, noise: float, seed: int) -> Split:
    """A line with noise, y = slope · x + intercept + noise · N(0, 1): x uniform in -1…1; both float32 (samples, 1)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    x = generator.uniform(-1.0, 1.0, (samples, 1))
    y = slope * x + intercept + noise * generator.standard_normal((samples, 1))
    return Split(x.astype(np.float32), y.astype(np.float32))
