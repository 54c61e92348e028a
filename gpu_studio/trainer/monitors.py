"""Decide which of two epochs was better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gpu_studio.plan.monitors import VALIDATION, more_is_better


@dataclass(frozen=True, slots=True)
class Monitor:
    """A watched metric, by its name in an epoch's metrics (`val_loss`, `accuracy`)."""

    name: str

    def value(self, metrics: Mapping[str, float]) -> float | None:
        """Return its value in an epoch's metrics.

        The training split's if there is no validation split.
        """
        value = metrics.get(self.name, metrics.get(self.name.removeprefix(VALIDATION)))
        return value if value is not None and math.isfinite(value) else None

    @property
    def sign(self) -> int:
        """1 if less is better, −1 if more is."""
        return -1 if more_is_better(self.name) else 1

    def better(self, value: float, best: float | None, by: float = 0.0) -> bool:
        """Whether `value` is better than `best` by more than `by`. Anything is better than None."""
        return best is None or self.sign * (best - value) > by
