"""Data that need no download: the bundled digits, and data made from a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gpu_studio.common.resource_files import resource
from gpu_studio.trainer.data.values import Array, Images, Split

_LARGEST_PIXEL = 16
_BOX, _FRAME = 20, 28


def digits() -> Split:
    """All digits: x float32 (1797, 28, 28, 1) in 0…1, y int32 (1797,) in 0…9."""
    with np.load(resource("data/digits.npz"), allow_pickle=False) as file:
        images, labels = file["images"], file["labels"]
    return Split(grow(images.astype(np.float32) / _LARGEST_PIXEL), labels.astype(np.int32))


def grow(images: Images) -> Images:
    """Square images (n, k, k) as MNIST shows its digits.

    In a box of 20 × 20 amid a black frame of 28 × 28.

    Bilinear between the pixels' centres, so that no pixel is doubled or lost and 0…1 stays 0…1.
    MNIST's box and frame: LeCun et al. 1998, "Gradient-based learning applied to document
    recognition", section III.
    """
    weights = bilinear_weights(images.shape[1], _BOX)
    margin = (_FRAME - _BOX) // 2
    framed = np.zeros((len(images), _FRAME, _FRAME, 1), np.float32)
    framed[:, margin : margin + _BOX, margin : margin + _BOX, 0] = weights @ images @ weights.T
    return framed


def bilinear_weights(old: int, new: int) -> Images:
    """The (new, old) matrix that resamples a line of `old` pixels to `new`; each row sums to 1."""
    centres = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    left = np.minimum(centres.astype(np.intp), old - 2)
    share = (centres - left).astype(np.float32)
    weights = np.zeros((new, old), np.float32)
    weights[np.arange(new), left] = 1 - share
    weights[np.arange(new), left + 1] = share
    return weights


# Noise is made and added in pieces of about this many numbers, so that the samples are the only
# large array.
_PIECE = 1 << 22
_NOISE = 0.25


def synthetic(shape: Sequence[int], classes: int, samples: int, seed: int) -> Split:
    """Samples around one prototype a class: x float32 (samples, *shape), y int32 (samples,).

    Prototypes are uniform in 0…1 and the noise is normal with a standard deviation of 0.25, so that
    a model learns the classes within a few epochs but not from one pixel. Class ids take turns, and
    so every class is there if there are enough samples. Memory is that of `x` and a few MiB.
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
    """A line with noise, y = slope · x + intercept + noise · N(0, 1): x uniform in -1…1.

    Both float32 (samples, 1).
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    x = generator.uniform(-1.0, 1.0, (samples, 1))
    y = slope * x + intercept + noise * generator.standard_normal((samples, 1))
    return Split(x.astype(np.float32), y.astype(np.float32))
