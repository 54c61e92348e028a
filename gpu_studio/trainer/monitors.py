"""Which of two epochs was better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

VALIDATION = "val_"
# Parts of the names of Keras metrics of which more is better; of every other value, less is.
_MORE = ("accuracy", "auc", "precision", "recall", "f1", "fbeta", "score", "iou", "similarity", "r2", "true_", "at_")


@dataclass(frozen=True, slots=True)
class Monitor:
    """A metric that is watched, by its name in an epoch's metrics (`val_loss`, `accuracy`)."""

    name: str

    def value(self, metrics: Mapping[str, float]) -> float | None:
        """Its value in an epoch's metrics; of the training split where there is no validation split."""
        value = metrics.get(self.name, metrics.get(self.name.removeprefix(VALIDATION)))
        return value if value is not None and math.isfinite(value) else None

    @property
    def sign(self) -> int:
        """1 if less is better, −1 if more is."""
        name = self.name.removeprefix(VALIDATION)
        return -1 if "loss" not in name and any(part in name for part in _MORE) else 1

    def better(self, value: float, best: float | None, by: float = 0.0) -> bool:
        """Whether `value` is better than `best` by more than `by`. Anything is better than None."""
        return best is None or self.sign * (best - value) > by
