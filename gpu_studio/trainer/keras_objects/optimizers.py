"""The optimizer of a plan, by Keras' name and with Keras' options."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from gpu_studio.plan.keras_names import OPTIMIZERS, keras_name
from gpu_studio.plan.values import Training
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import construct, keras_class, known
from gpu_studio.trainer.keras_objects.schedules import learning_rate

_FIELD = "training.options"
# Nadam keeps a running product and Muon decays the weights by itself: both write in each replica.
_WRITING_IN_REPLICAS = ("nadam", "muon")


def make_optimizer(training: Training, steps_per_epoch: int, total_steps: int) -> Any:
    """A new keras.optimizers.Optimizer; make it inside the strategy's scope, after the precision has been set.

    Where the precision computes in float16, it comes wrapped in a LossScaleOptimizer, as `compile` would wrap it.
    Raises PlanRefused naming an unknown optimizer or option, a wrong value, or an option that Keras cannot carry out
    on several replicas.
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
    """Options that Keras takes and that have no effect here."""
    if "learning_rate" in training.options:
        raise PlanRefused(
            f"{_FIELD}.learning_rate stands where it has no effect.",
            ["Set training.learning_rate, or training.schedule."],
        )
    if training.options.get("use_ema") and not training.options.get("ema_overwrite_frequency"):
        # Keras' `fit` writes the averages into the model at its end, which would also end in a model that no checkpoint
        # and no curve belongs to.
        raise PlanRefused(
            f"{_FIELD}.use_ema alone keeps averages of the weights but never uses them.",
            [f"Set {_FIELD}.ema_overwrite_frequency too: the averages become the weights every so many steps."],
        )


def _check_replicas(training: Training, float16: bool, strategy: Any) -> None:
    """Keras 3 puts these into a conditional that changes variables in each replica, which tf.distribute forbids."""
    if strategy.num_replicas_in_sync < 2:
        return
    for option in ("gradient_accumulation_steps", "ema_overwrite_frequency"):
        if training.options.get(option):
            raise PlanRefused(
                f"Keras cannot carry out {_FIELD}.{option} on {strategy.num_replicas_in_sync} replicas.",
                [f"Leave {option} out.", 'Train on one device: distribution.strategy = "none".'],
            )
    if isinstance(strategy, tf.distribute.experimental.CentralStorageStrategy):
        _check_central_storage(training, float16)


def _check_central_storage(training: Training, float16: bool) -> None:
    """It lets no replica write variables that Keras makes without saying how to join the replicas' values."""
    name = keras_name(training.optimizer, OPTIMIZERS)
    impossible = {
        f"the optimizer {name}": name in _WRITING_IN_REPLICAS,
        "float16 mixed precision": float16,
    }
    for what in (what for what, asked in impossible.items() if asked):
        raise PlanRefused(
            f"Keras cannot carry out {what} under central_storage.",
            ['Set distribution.strategy = "mirrored", which can.', "Leave it out."],
        )
