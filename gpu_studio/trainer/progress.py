"""How far a run has come, which of its epochs was the best, and how many steps come next.

The progress is all that is needed to resume a run, except the weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gpu_studio.plan.keras_objects import VALIDATION, more_is_better
from gpu_studio.plan.values import CheckpointSettings


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """`epoch` epochs are finished, and `samples` samples of the next; `step` steps were trained.

    An epoch is a pass over the data, unless the plan gives it a number of steps: then it goes on
    where the one before ended. `passes` are over, `pass_steps` and `pass_samples` of the next are
    done; `pass_over` says that it has ended, and the epoch with it. `best` and `waited` belong to
    early stopping: the best value so far, and epochs since.
    """

    epoch: int = 0
    step: int = 0
    step_in_epoch: int = 0
    samples: int = 0
    best: float | None = None
    waited: int = 0
    passes: int = 0
    pass_steps: int = 0
    pass_samples: int = 0
    pass_over: bool = False

    def after_steps(self, steps: int, samples: int, *, pass_over: bool = False) -> TrainingProgress:
        """Return the progress after `steps` more steps of `samples` samples in all."""
        return replace(
            self,
            step=self.step + steps,
            step_in_epoch=self.step_in_epoch + steps,
            samples=self.samples + samples,
            pass_steps=self.pass_steps + steps,
            pass_samples=self.pass_samples + samples,
            pass_over=pass_over,
        )

    def after_epoch(self) -> TrainingProgress:
        """Return the progress once the epoch under way is finished."""
        ended = replace(self, epoch=self.epoch + 1, step_in_epoch=0, samples=0)
        return ended.in_new_pass(self.passes + 1) if self.pass_over else ended

    def in_new_pass(self, number: int) -> TrainingProgress:
        """Return the same at the beginning of pass `number`, counted from 0."""
        return replace(self, passes=number, pass_steps=0, pass_samples=0, pass_over=False)

    def before_epoch(self) -> TrainingProgress:
        """Return the same without what was done of the epoch under way."""
        return replace(self, step_in_epoch=0, samples=0).in_new_pass(self.passes)

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
        # Before epochs could have a number of steps, each was a pass.
        older = ("epoch", "step_in_epoch", "samples")
        for name, same in zip(("passes", "pass_steps", "pass_samples"), older, strict=True):
            counts[name] = int(state.get(name, counts[same]))
        best, over = state.get("best_value"), bool(state.get("pass_over", False))
        return cls(**counts, best=None if best is None else float(best), pass_over=over)


class Reached:
    """Where the run is now, written by the loop and read by other threads that report it."""

    def __init__(self) -> None:
        self.progress = TrainingProgress()


@dataclass(frozen=True, slots=True)
class Monitor:
    """A watched metric, by its name in an epoch's metrics (`val_loss`, `accuracy`)."""

    name: str

    def value(self, metrics: Mapping[str, float], *, left_out: bool = False) -> float | None:
        """Return its value in an epoch's metrics.

        The training split's if there is no validation split; none if validation was `left_out`.
        """
        if left_out and self.name.startswith(VALIDATION):
            return None
        value = metrics.get(self.name, metrics.get(self.name.removeprefix(VALIDATION)))
        return value if value is not None and math.isfinite(value) else None

    def is_in(self, metrics: Mapping[str, float]) -> bool:
        """Whether it is among an epoch's metrics, of one split or the other."""
        return self.name in metrics or self.name.removeprefix(VALIDATION) in metrics

    @property
    def sign(self) -> int:
        """1 if less is better, −1 if more is."""
        return -1 if more_is_better(self.name) else 1

    def better(self, value: float, best: float | None, by: float = 0.0) -> bool:
        """Whether `value` is better than `best` by more than `by`. Anything is better than None."""
        return best is None or self.sign * (best - value) > by


class Judge:
    """Finds what judges the checkpoint of each epoch: the plan's monitor, wherever it is measured.

    Of a model that measures no loss, another monitor does in place of the default.
    """

    def __init__(self, settings: CheckpointSettings, measures: Sequence[str]) -> None:
        self._settings, self._measures = settings, measures
        self._said = False

    def of(self, metrics: Mapping[str, float]) -> Monitor:
        """The monitor that counts for these metrics of an epoch."""
        asked = Monitor(self._settings.monitor)
        instead = self._settings.instead(self._measures)
        return asked if instead is None or asked.is_in(metrics) else Monitor(instead)

    def said(self, metrics: Mapping[str, float]) -> str:
        """What is to be said of it, once; empty if that is nothing."""
        judge, asked = self.of(metrics), Monitor(self._settings.monitor)
        if self._said or asked.is_in(metrics) or not self._settings.lacks_loss(self._measures):
            return ""
        self._said = True
        other = "training.checkpoint.monitor names another."
        if judge == asked:
            return (
                "The model measures no loss, and of what it measures it is not known which way is "
                f"better: no checkpoint is kept as the best. {other}"
            )
        way = "less" if judge.sign > 0 else "more"
        return (
            f"The model measures no loss: the best checkpoint is judged by {judge.name} ({way} is "
            f"better), the first that it measures of which that is known. {other}"
        )


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

    def next(self, left: int | None) -> int:
        """Return the steps of the next call, with `left` steps left in the epoch, if known."""
        return max(1, self._steps if left is None else min(self._steps, left))

    def measured(self, steps: int, seconds: float) -> None:
        """Learn from a call of `steps` steps that took `seconds`."""
        if self._fixed:
            return
        fitting = int(CALL_SECONDS * steps / max(seconds, 1e-6))
        # The first call is slow because it is traced, and a later one may be by chance: adjust
        # gradually.
        self._steps = max(1, min(fitting, FASTER_AT_MOST * self._steps))
