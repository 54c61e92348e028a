"""The table of finished epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpu_studio.runs.events import Epoch
from gpu_studio.runs.series import Array

_HIGHER_IS_BETTER = ("acc", "auc", "precision", "recall", "f1", "fbeta", "iou", "io_u", "r2", "cosine_similarity")


@dataclass(frozen=True, slots=True)
class Best:
    """The best value of a metric, and the epoch (counted from 1) that reached it."""

    metric: str
    value: float
    epoch: int


class EpochTable:
    """One row for each finished epoch, kept whole: an epoch is worth a row however long the run."""

    def __init__(self) -> None:
        self.rows: list[Epoch] = []
        self._metrics: dict[str, None] = {}

    def __len__(self) -> int:
        """Count the finished epochs."""
        return len(self.rows)

    @property
    def last(self) -> Epoch | None:
        """The newest row; None before the end of the first epoch."""
        return self.rows[-1] if self.rows else None

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics, in the order in which they first came."""
        return list(self._metrics)

    @property
    def steps(self) -> Array:
        """The steps trained by the end of each epoch, shape (epochs,)."""
        return np.array([row.step for row in self.rows], dtype=np.float64)

    @property
    def times(self) -> Array:
        """The end of each epoch in seconds since 1970 (UTC), shape (epochs,)."""
        return np.array([row.time for row in self.rows], dtype=np.float64)

    @property
    def numbers(self) -> Array:
        """The number of each epoch, counted from 1, shape (epochs,)."""
        return np.array([row.epoch for row in self.rows], dtype=np.float64)

    def metric(self, name: str) -> Array:
        """Return one metric of each epoch, shape (epochs,); not a number where an epoch does not have it."""
        return np.array([row.metrics.get(name) for row in self.rows], dtype=np.float64)

    def add(self, event: Epoch) -> None:
        """Add a finished epoch."""
        self.rows.append(event)
        self._metrics.update(dict.fromkeys(event.metrics))

    def best(self, name: str) -> Best | None:
        """Return the best epoch by a metric, the earliest of equals; None if no epoch has a number for it."""
        sign = -1.0 if higher_is_better(name) else 1.0
        return min(self._numbers_of(name), key=lambda best: sign * best.value, default=None)

    def _numbers_of(self, name: str) -> Iterator[Best]:
        for row in self.rows:
            value = row.metrics.get(name)
            if value is not None and math.isfinite(value):
                yield Best(name, value, row.epoch)


def higher_is_better(metric: str) -> bool:
    """Say whether a greater value of a Keras metric is the better one, told by its name; a loss or an error is not."""
    return any(word in metric.lower() for word in _HIGHER_IS_BETTER)
