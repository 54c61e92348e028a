"""The learning rate at each step of a run, computed in advance by Keras' formulas of schedules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_studio.plan.catalogue import SCHEDULES
from gpu_studio.plan.values import Training

Rate = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a run: the steps of an epoch, and of all epochs."""

    steps_per_epoch: int
    total_steps: int


def rate_of(training: Training, length: Length) -> Rate:
    """The learning rate as a function of the step, counted over the whole run from 0.

    Raises ValueError, with a sentence, for an unknown schedule, wrong options, or one that does not
    fit the run.
    """
    schedule = training.schedule
    if schedule is None:
        return lambda _step: training.learning_rate
    entry = SCHEDULES.get(schedule.name)
    if entry is None:
        raise ValueError(f"There is no schedule {schedule.name}.")
    wrong = entry.problems("", schedule.options)
    if wrong:
        raise ValueError(str(wrong[0]))
    return _MAKERS[entry.name](training.learning_rate, entry.values(schedule.options), length)


def _constant(rate: float, _options: Mapping[str, Any], _length: Length) -> Rate:
    return lambda _step: rate


def _step(rate: float, options: Mapping[str, Any], length: Length) -> Rate:
    """A staircase: rate · drop^⌊step / period⌋."""
    period = _period(options, "every", length)
    return lambda step: rate * float(options["drop"]) ** math.floor(step / period)


def _exponential(rate: float, options: Mapping[str, Any], length: Length) -> Rate:
    """A curve: rate · decay^(step / period), the exponent rounded down if `staircase` is set."""
    period = _period(options, "every", length)
    rounded = math.floor if options["staircase"] else float
    return lambda step: rate * float(options["decay"]) ** rounded(step / period)


def _cosine(rate: float, options: Mapping[str, Any], length: Length) -> Rate:
    """A linear warm-up of w steps, then half a cosine down to `minimum` · rate at the end of the T
    steps of the run.

    step < w:  rate · (1 + (w - 1) · step / w) / w (Goyal et al. 2017, arXiv:1706.02677, section
    2.2); step ≥ w:  rate · (m + (1 - m) / 2 · (1 + cos(π · (step - w) / (T - w)))), m the minimum
    (Loshchilov and Hutter
               2016, arXiv:1608.03983, equation 5, one period).
    """
    warmup = _period(options, "warmup", length)
    total = max(1, length.total_steps)
    if warmup >= total:
        raise ValueError(
            f"The warm-up takes {warmup:,} steps, and the whole run has {total:,}: shorten it, or "
            "train more epochs."
        )

    minimum = float(options["minimum"])

    def at(step: float) -> float:
        if step < warmup:
            return rate * (1 + (warmup - 1) * step / warmup) / warmup
        angle = math.pi * min(1.0, (step - warmup) / (total - warmup))
        return rate * (minimum + (1 - minimum) / 2 * (1 + math.cos(angle)))

    return at


def _period(options: Mapping[str, Any], kind: str, length: Length) -> int:
    """The steps of a period, or of the warm-up: given in steps, or if these are 0, in epochs."""
    steps: int = options[f"{kind}_steps"] or options[f"{kind}_epochs"] * length.steps_per_epoch
    return steps


_MAKERS: dict[str, Callable[[float, Mapping[str, Any], Length], Rate]] = {
    "constant": _constant,
    "step": _step,
    "exponential": _exponential,
    "cosine": _cosine,
}
