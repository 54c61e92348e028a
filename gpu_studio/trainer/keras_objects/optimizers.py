"""The optimizer of a plan, by Keras' name and with Keras' options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.plan.catalogue import SCHEDULES
from gpu_studio.plan.keras_names import OPTIMIZERS
from gpu_studio.plan.replication import ONE_REPLICA_OPTIONS
from gpu_studio.plan.values import Training
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import construct, keras_class, known
from gpu_studio.trainer.strategies import refuse_impossible

Rate = Any  # a float, or a keras.optimizers.schedules.LearningRateSchedule


def learning_rate(training: Training, steps_per_epoch: int, total_steps: int) -> Rate:
    """The learning rate of a plan, as a Keras optimizer takes it.

    A number if it is constant, else a schedule.

    Raises PlanRefused for an unknown schedule, and for a warm-up that takes the whole run.
    """
    rate = float(training.learning_rate)
    schedule = training.schedule
    if schedule is None:
        return rate
    name = known("training.schedule.name", schedule.name, _MAKERS)
    return _MAKERS[name](
        rate, SCHEDULES[name].values(schedule.options), steps_per_epoch, total_steps
    )


def _constant(
    rate: float, _options: dict[str, Any], _steps_per_epoch: int, _total_steps: int
) -> Rate:
    return rate


def _step(rate: float, options: dict[str, Any], steps_per_epoch: int, _total_steps: int) -> Rate:
    """A staircase: rate · drop^⌊step / period⌋."""
    period = options["every_steps"] or options["every_epochs"] * steps_per_epoch
    return keras.optimizers.schedules.ExponentialDecay(
        rate, period, options["drop"], staircase=True
    )


def _exponential(
    rate: float, options: dict[str, Any], steps_per_epoch: int, _total_steps: int
) -> Rate:
    """A curve.

    Rate · decay^(step / period), with the exponent rounded down where `staircase` is asked for.
    """
    period = options["every_steps"] or options["every_epochs"] * steps_per_epoch
    return keras.optimizers.schedules.ExponentialDecay(
        rate, period, options["decay"], staircase=options["staircase"]
    )


def _cosine(rate: float, options: dict[str, Any], steps_per_epoch: int, total_steps: int) -> Rate:
    """A linear warm-up of w steps, then half a cosine down to `minimum` · rate at the end of the T
    steps of the run.

    step < w:  rate · (1 + (w - 1) · step / w) / w, that is from rate / w at step 0 to rate at step
               w (Goyal et al. 2017, arXiv:1706.02677, section 2.2: gradual warm-up by equal
               increments);
    step ≥ w:  rate · (m + (1 - m) / 2 · (1 + cos(π · (step - w) / (T - w)))), m the minimum
               (Loshchilov and Hutter 2016, arXiv:1608.03983, equation 5, one period).
    """
    warmup = options["warmup_steps"] or options["warmup_epochs"] * steps_per_epoch
    if warmup >= total_steps:
        raise PlanRefused(
            f"The learning rate's warm-up takes {warmup} steps, but the "
            f"whole run has {total_steps}.",
            [
                "Shorten training.schedule.options.warmup_epochs or warmup_steps.",
                "Train for more epochs.",
            ],
        )
    decay = keras.optimizers.schedules.CosineDecay
    if not warmup:
        return decay(rate, total_steps, alpha=options["minimum"])
    # Keras' warm-up would start at 0 and waste the first step, so this one starts where the first
    # increment ends.
    return decay(
        rate / warmup,
        total_steps - warmup,
        alpha=options["minimum"],
        warmup_target=rate,
        warmup_steps=warmup,
    )


_MAKERS: dict[str, Callable[[float, dict[str, Any], int, int], Rate]] = {
    "constant": _constant,
    "step": _step,
    "exponential": _exponential,
    "cosine": _cosine,
}


_FIELD = "training.options"


def make_optimizer(training: Training, steps_per_epoch: int, total_steps: int) -> Any:
    """A new keras.optimizers.Optimizer.

    Make it inside the strategy's scope, after the precision has been set.

    Where the precision computes in float16, it comes wrapped in a LossScaleOptimizer, as `compile`
    would wrap it. Raises PlanRefused naming an unknown optimizer or option, a wrong value, or an
    option that Keras cannot carry out on several replicas.
    """
    _check_options(training)
    float16 = keras.config.dtype_policy().compute_dtype == "float16"
    _check_replicas(training, float16, tf.distribute.get_strategy())
    rate = learning_rate(training, steps_per_epoch, total_steps)
    name = known("training.optimizer", training.optimizer, OPTIMIZERS)
    factory = keras_class(keras.optimizers, name)
    optimizer = construct(_FIELD, name, factory, training.options, {"learning_rate": rate})
    return keras.optimizers.LossScaleOptimizer(optimizer) if float16 else optimizer


def _check_options(training: Training) -> None:
    """Refuse options that Keras accepts and that have no effect here."""
    if "learning_rate" in training.options:
        raise PlanRefused(
            f"{_FIELD}.learning_rate stands where it has no effect.",
            ["Set training.learning_rate, or training.schedule."],
        )
    if training.options.get("use_ema") and not training.options.get("ema_overwrite_frequency"):
        # Keras' `fit` writes the averages into the model at its end. The model would
        # then match no checkpoint and no curve.
        raise PlanRefused(
            f"{_FIELD}.use_ema alone keeps averages of the weights but never uses them.",
            [
                (
                    f"Set {_FIELD}.ema_overwrite_frequency too: the averages become "
                    "the weights every so many steps."
                )
            ],
        )


def _check_replicas(training: Training, float16: bool, strategy: Any) -> None:
    """Refuse options that no strategy of several replicas can carry out.

    Keras 3 puts them into a conditional that changes variables in each replica, which tf.distribute
    forbids.
    """
    if strategy.num_replicas_in_sync < 2:
        return
    for option in ONE_REPLICA_OPTIONS:
        if training.options.get(option):
            raise PlanRefused(
                f"Keras cannot carry out {_FIELD}.{option} on "
                f"{strategy.num_replicas_in_sync} replicas.",
                [f"Leave {option} out.", 'Train on one device: distribution.strategy = "none".'],
            )
    refuse_impossible(strategy, training, float16=float16)
