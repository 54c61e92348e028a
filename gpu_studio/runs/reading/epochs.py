"""The table of a run's finished epochs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpu_studio.contract import Epoch

if TYPE_CHECKING:
    from gpu_studio.runs.reading.series import Array

MOST_ROWS: Final = 1 << 14
_HIGHER_IS_BETTER = (
    "acc",
    "auc",
    "precision",
    "recall",
    "f1",
    "fbeta",
    "iou",
    "io_u",
    "r2",
    "cosine_similarity",
)


@dataclass(frozen=True, slots=True)
class BestValue:
    """The best value of a metric, and the epoch (counted from 1) that reached it."""

    metric: str
    value: float
    epoch: int


class EpochTable:
    """One row for each finished epoch. `rows` holds them all, up to 16,384.

    Beyond that every second row is dropped, also of later ones, but never the newest: a run of many
    days keeps an even resolution. The best value of each metric is known even if its row was
    dropped.
    """

    def __init__(self) -> None:
        self._kept: list[Epoch] = []
        self._ahead: list[Epoch] = []
        self._count = 0
        self._every = 1
        self._best: dict[str, BestValue | None] = {}
        self._columns: dict[str, Array] = {}

    def __len__(self) -> int:
        """Count the finished epochs."""
        return self._count

    @property
    def rows(self) -> list[Epoch]:
        """The rows kept, oldest first, followed by those known in advance."""
        return [*self._kept, *self._ahead] if self._ahead else self._kept

    @property
    def last(self) -> Epoch | None:
        """The newest row; None before the end of the first epoch."""
        rows = self._ahead or self._kept
        return rows[-1] if rows else None

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics, in the order in which they first appeared."""
        return list(self._best)

    @property
    def steps(self) -> Array:
        """The steps trained by the end of each epoch, shape (rows,)."""
        return self._column(" step", lambda row: row.step)

    @property
    def times(self) -> Array:
        """The end of each epoch in seconds since 1970 (UTC), shape (rows,)."""
        return self._column(" time", lambda row: row.time)

    @property
    def numbers(self) -> Array:
        """The number of each epoch, counted from 1, shape (rows,)."""
        return self._column(" epoch", lambda row: row.epoch)

    def metric(self, name: str) -> Array:
        """Return one metric of each epoch, shape (rows,).

        Not a number where an epoch does not have it.
        """
        return self._column(name, lambda row: row.metrics.get(name))

    def add(self, event: Epoch) -> None:
        """Add a finished epoch."""
        self._columns.clear()
        # A row that was kept only because it was the newest makes room for the next.
        if self._count % self._every:
            self._kept.pop()
        self._kept.append(event)
        self._count += 1
        if self._ahead:
            self._ahead = [
                row for row in self._ahead if row.epoch > event.epoch and row.time > event.time
            ]
        if len(self._kept) > MOST_ROWS:
            self._thin()
        for name, value in event.metrics.items():
            self._note(name, value, event.epoch)

    def foresee(self, later: EpochTable) -> None:
        """Show the rows of `later` after the others until rows up to there have been added."""
        self._columns.clear()
        self._ahead = list(later.rows)
        for name in later.metrics:
            self._best.setdefault(name, None)

    def best(self, name: str) -> BestValue | None:
        """Return the best epoch by a metric, the earliest of equals.

        None if no epoch has a number for it.
        """
        return self._best.get(name)

    def _column(self, name: str, value: Callable[[Epoch], float | None]) -> Array:
        """One column, rebuilt only if rows changed, as it is requested at every refresh."""
        found = self._columns.get(name)
        if found is None:
            import numpy as np  # what lists runs needs no columns, and should not wait for it

            found = self._columns[name] = np.array(
                [value(row) for row in self.rows], dtype=np.float64
            )
            found.flags.writeable = False
        return found

    def _thin(self) -> None:
        self._every *= 2
        newest = self._kept[-1]
        # Kept are the rows whose count is a multiple of `every`, and the newest.
        self._kept = self._kept[1::2]
        if self._kept[-1] is not newest:
            self._kept.append(newest)

    def _note(self, name: str, value: float | None, epoch: int) -> None:
        best = self._best.setdefault(name, None)
        if value is None or not math.isfinite(value):
            return
        sign = -1.0 if higher_is_better(name) else 1.0
        if best is None or sign * value < sign * best.value:
            self._best[name] = BestValue(name, value, epoch)


def higher_is_better(metric: str) -> bool:
    """Say whether higher is better for a Keras metric, by its name; not for a loss or an error."""
    return any(word in metric.lower() for word in _HIGHER_IS_BETTER)
