"""How far a run has come: all that is needed to resume it, except the weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any


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
