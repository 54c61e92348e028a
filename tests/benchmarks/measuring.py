"""What a benchmark is.

It measures two things in turn, in one go, and compares the ratio of their medians with a budget.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Measure = Callable[[], float]


@dataclass(frozen=True)
class Budget:
    """What a ratio may be: at most, or at least, the limit."""

    kind: Literal["at most", "at least"]
    limit: float

    def holds(self, ratio: float) -> bool:
        """Whether the ratio keeps within the budget."""
        return ratio <= self.limit if self.kind == "at most" else ratio >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.kind == 'at most' else '≥'} {self.limit:g} ×"


@dataclass(frozen=True)
class Row:
    """One result. `measured` and `reference` hold every repetition, in `unit`.

    With `by_worst` it is the greatest of what was measured that the budget holds for, not the
    median."""

    what: str
    reference_what: str
    unit: str
    budget: Budget
    measured: tuple[float, ...]
    reference: tuple[float, ...]
    by_worst: bool = False

    @property
    def median(self) -> float:
        """The median of what was measured."""
        return statistics.median(self.measured)

    @property
    def worst(self) -> float:
        """The greatest of what was measured."""
        return max(self.measured)

    @property
    def reference_median(self) -> float:
        """The median of the reference."""
        return statistics.median(self.reference)

    @property
    def ratio(self) -> float:
        """The median of what was measured, or the greatest, in medians of the reference."""
        return (self.worst if self.by_worst else self.median) / self.reference_median

    @property
    def ok(self) -> bool:
        """Whether the budget is kept."""
        return self.budget.holds(self.ratio)

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        results = {
            "median": self.median,
            "worst": self.worst,
            "reference_median": self.reference_median,
        }
        return asdict(self) | results | {"ratio": self.ratio, "ok": self.ok}


def in_turn(
    measure: Measure, reference: Measure, times: int
) -> tuple[Sequence[float], Sequence[float]]:
    """Measure each `times` times, taking turns at going first."""
    results: dict[int, list[float]] = {0: [], 1: []}
    for repetition in range(times):
        pair = ((0, measure), (1, reference))
        for which, function in pair if repetition % 2 == 0 else reversed(pair):
            results[which].append(function())
    return results[0], results[1]


def compare(
    what: str,
    measure: Measure,
    reference_what: str,
    reference: Measure,
    unit: str,
    budget: Budget,
    times: int,
) -> Row:
    """Measure a thing and its reference in turn and make the row of it."""
    measured, held_against = in_turn(measure, reference, times)
    return Row(what, reference_what, unit, budget, tuple(measured), tuple(held_against))
