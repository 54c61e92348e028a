"""Learning-rate schedules: the rate as a function of the step, counted over the whole run from 0.

A resumed run goes on with the step where it stopped, so that it meets the rates that it would have met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from gpu_studio.plan.catalogue import SCHEDULES
from gpu_studio.plan.values import Training
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import known

Rate = Any  # a float, or a keras.optimizers.schedules.LearningRateSchedule


def learning_rate(training: Training, steps_per_epoch: int, total_steps: int) -> Rate:
    """The learning rate of a plan, as a Keras optimizer takes it: a number if it is constant, else a schedule.

    Raises PlanRefused for an unknown schedule, and for a warm-up that takes the whole run.
    """
    rate = float(training.learning_rate)
    schedule = training.schedule
    if schedule is None:
        return rate
    name = known("training.schedule.name", schedule.name, _MAKERS)
    return _MAKERS[name](rate, SCHEDULES[name].values(schedule.options), steps_per_epoch, total_steps)


def _constant(rate: float, _options: dict[str, Any], _steps_per_epoch: int, _total_steps: int) -> Rate:
    return rate


def _step(rate: float, options: dict[str, Any], steps_per_epoch: int, _total_steps: int) -> Rate:
    """A staircase: rate · drop^⌊step / period⌋."""
    period = options["every_steps"] or options["every_epochs"] * steps_per_epoch
    return keras.optimizers.schedules.ExponentialDecay(rate, period, options["drop"], staircase=True)


def _exponential(rate: float, options: dict[str, Any], steps_per_epoch: int, _total_steps: int) -> Rate:
    """A curve: rate · decay^(step / period), with the exponent rounded down where `staircase` is asked for."""
    period = options["every_steps"] or options["every_epochs"] * steps_per_epoch
    return keras.optimizers.schedules.ExponentialDecay(rate, period, options["decay"], staircase=options["staircase"])


def _cosine(rate: float, options: dict[str, Any], steps_per_epoch: int, total_steps: int) -> Rate:
    """A linear warm-up of w steps, then half a cosine down to `minimum` · rate at the end of the T steps of the run.

    step < w:  rate · (1 + (w - 1) · step / w) / w, that is from rate / w at step 0 to rate at step w (Goyal et al.
               2017, arXiv:1706.02677, section 2.2: gradual warm-up by equal increments);
    step ≥ w:  rate · (m + (1 - m) / 2 · (1 + cos(π · (step - w) / (T - w)))), m the minimum (Loshchilov and Hutter
               2016, arXiv:1608.03983, equation 5, one period).
    """
    warmup = options["warmup_steps"] or options["warmup_epochs"] * steps_per_epoch
    if warmup >= total_steps:
        raise PlanRefused(
            f"The learning rate's warm-up takes {warmup} steps, but the whole run has {total_steps}.",
            ["Shorten training.schedule.options.warmup_epochs or warmup_steps.", "Train for more epochs."],
        )
    decay = keras.optimizers.schedules.CosineDecay
    if not warmup:
        return decay(rate, total_steps, alpha=options["minimum"])
    # Keras' warm-up would start at 0 and waste the first step, so it starts where the first increment ends.
    return decay(rate / warmup, total_steps - warmup, alpha=options["minimum"], warmup_target=rate, warmup_steps=warmup)


_MAKERS: dict[str, Callable[[float, dict[str, Any], int, int], Rate]] = {
    "constant": _constant,
    "step": _step,
    "exponential": _exponential,
    "cosine": _cosine,
}
