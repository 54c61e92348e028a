"""How far a run has come, which of its epochs was the best, and how many steps come next.

The progress is all that is needed to resume a run, except the weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from gpu_studio.plan.keras_objects import VALIDATION, more_is_better


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """`epoch` epochs are finished, and `samples` samples of the next; `step` steps were trained.

    `best` and `waited` belong to early stopping: the best value so far, and epochs since.
    """

    epoch: int = 0
    step: int = 0
    step_in_epoch: int = 0
    samples: int = 0
    best: float | None = None
    waited: int = 0

    def after_steps(self, steps: int, samples: int) -> TrainingProgress:
        """Return the progress after `steps` more steps of `samples` samples in all."""
        return replace(
            self,
            step=self.step + steps,
            step_in_epoch=self.step_in_epoch + steps,
            samples=self.samples + samples,
        )

    def after_epoch(self) -> TrainingProgress:
        """Return the progress once the epoch under way is finished."""
        return replace(self, epoch=self.epoch + 1, step_in_epoch=0, samples=0)

    def as_dict(self) -> dict[str, Any]:
        """Return it in the form of `state.json`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> TrainingProgress:
        """Read it from `state.json`, ignoring unknown keys. Raises KeyError, TypeError."""
        counts = {
            name: int(state[name])
            for name in ("epoch", "step", "step_in_epoch", "samples", "waited")
        }
        best = state.get("best_value")
        return cls(**counts, best=None if best is None else float(best))


class Reached:
    """Where the run is now, written by the loop and read by other threads that report it."""

    def __init__(self) -> None:
        self.progress = TrainingProgress()


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


CALL_SECONDS = 0.1
FASTER_AT_MOST = 4


class CallLength:
    """Chooses the number of steps so that a call lasts about a tenth of a second.

    Fewer calls cost less, because each pays once for the way from Python into TensorFlow and back.
    Longer calls would make the curves jerk and *Stop* wait. A plan's `steps_per_call` above 0 is
    used as it is.
    """

    def __init__(self, wanted: int) -> None:
        self._fixed = wanted
        self._steps = wanted or 1

    def next(self, left: int) -> int:
        """Return the steps of the next call, with `left` steps left in the epoch."""
        return max(1, min(self._steps, left))

    def measured(self, steps: int, seconds: float) -> None:
        """Learn from a call of `steps` steps that took `seconds`."""
        if self._fixed:
            return
        fitting = int(CALL_SECONDS * steps / max(seconds, 1e-6))
        # The first call is slow because it is traced, and a later one may be by chance: adjust
        # gradually.
        self._steps = max(1, min(fitting, FASTER_AT_MOST * self._steps))
