"""The order of runs: live ones always on top, then by a column, then the newest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gpu_studio.runs.reading.epochs import higher_is_better
from gpu_studio.ui.runs.run_row import RunRow


@dataclass(frozen=True, slots=True)
class Order:
    """The column, and whether the greatest comes first. By default the newest."""

    column: str = "started"
    descending: bool = True

    def __str__(self) -> str:
        return f"{self.column}:{'down' if self.descending else 'up'}"

    @classmethod
    def read(cls, text: str) -> Order:
        """Parse an order written by `str`; the default for anything else."""
        column, _, way = text.partition(":")
        return cls(column, way == "down") if column in KEYS and way in ("up", "down") else cls()


def arranged(rows: Iterable[RunRow], order: Order) -> list[RunRow]:
    """Return the rows in this order.

    A run without the sorted figure comes last in either direction.
    """
    newest = sorted(rows, key=lambda row: row.id, reverse=True)
    newest.sort(key=lambda row: row.summary.created, reverse=True)
    key = KEYS[order.column]
    known = [row for row in newest if key(row) is not None]
    known.sort(key=key, reverse=order.descending)
    whole = known + [row for row in newest if key(row) is None]
    return [row for row in whole if row.live] + [row for row in whole if not row.live]


def _best(row: RunRow) -> float | None:
    """Return a key that sorts the worst first, whatever the metric.

    So an accuracy and a loss sort alike.
    """
    best = row.summary.best
    if best is None or not math.isfinite(best.value):
        return None
    return best.value if higher_is_better(best.metric) else -best.value


KEYS: dict[str, Callable[[RunRow], Any]] = {
    "run": lambda row: row.name.casefold(),
    "state": lambda row: row.state_words.casefold(),
    "started": lambda row: row.summary.created,
    "duration": lambda row: row.summary.seconds,
    "best": _best,
    "memory": lambda row: row.peak,
    "energy": lambda row: row.joules,
}
"""What each column that can be sorted is sorted by; None is not known."""
