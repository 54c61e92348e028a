"""Small datasets of every kind that a model or a loss supports."""

from __future__ import annotations

import numpy as np

from gpu_studio.plan.targets import Target
from gpu_studio.trainer.data import Dataset, Split


def classes(shape: tuple[int, ...] = (8,), count: int = 3, samples: int = 12) -> Dataset:
    """Measured values of this shape with class ids."""
    x = np.random.default_rng(0).random((samples, *shape), np.float32)
    y = (np.arange(samples) % count).astype(np.int32)
    return Dataset("made classes", Split(x, y), None, None, Target(ids=count))


def values(shape: tuple[int, ...] = (1,), samples: int = 12) -> Dataset:
    """Measured values of this shape with one value each as target."""
    x = np.random.default_rng(0).random((samples, *shape), np.float32)
    y = x.reshape(samples, -1).sum(axis=1, keepdims=True)
    return Dataset("made values", Split(x, y), None, None, Target((1,), measured=True))


def tokens(length: int = 6, vocabulary: int = 20, count: int = 3, samples: int = 12) -> Dataset:
    """Rows of token ids with class ids; the largest token is in the test split only."""
    x = np.random.default_rng(0).integers(0, vocabulary - 1, (samples, length), np.int32)
    y = (np.arange(samples) % count).astype(np.int32)
    test = Split(np.full((2, length), vocabulary - 1, np.int32), y[:2])
    return Dataset("made tokens", Split(x, y), None, test, Target(ids=count))
