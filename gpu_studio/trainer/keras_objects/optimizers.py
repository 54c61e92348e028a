"""The optimizer and the learning rate of a plan: by Keras' names, the user's own, as compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.plan import Training
from gpu_studio.plan.catalogue import SCHEDULES, steps_of
from gpu_studio.plan.keras_objects import COMPILED, OPTIMIZERS, keras_name, optimizer_named
from gpu_studio.trainer.errors import PlanRefused, UserCodeError
from gpu_studio.trainer.keras_objects.as_compiled import compiled_optimizer, keeps_optimizer
from gpu_studio.trainer.keras_objects.named import (
    construct,
    itself_or_made,
    keras_class,
    known,
    own_function,
    takes_epoch,
)
from gpu_studio.trainer.strategies import refuse_impossible
from gpu_studio.trainer.user_code import UserFunction
from gpu_studio.trainer.user_code.telling import kind_in_words

Rate = Any  # a float, or a keras.optimizers.schedules.LearningRateSchedule


def learning_rate(training: Training, steps_per_epoch: int, total_steps: int) -> Rate:
    """The learning rate of a plan, as a Keras optimizer takes it.

    A number if it is constant, else a schedule.

    Raises PlanRefused for an unknown schedule, and for a warm-up that takes the whole run;
    UserCodeError for what goes wrong in a schedule of the user's own.
    """
    rate = float(training.learning_rate)
    schedule = training.schedule
    if schedule is None:
        return rate
    function = own_function("training.schedule", schedule.name)
    if function is not None:
        return _own_rate(function, schedule.options, rate, steps_per_epoch, total_steps)
    name = known("training.schedule.name", schedule.name, _MAKERS)
    return _MAKERS[name](
        rate, SCHEDULES[name].values(schedule.options), steps_per_epoch, total_steps
    )


def _own_rate(
    function: UserFunction,
    options: Mapping[str, Any],
    rate: float,
    steps_per_epoch: int,
    total_steps: int,
) -> Rate:
    """A schedule of the user's own: an object of Keras', or a function of the step or the epoch."""
    kind = keras.optimizers.schedules.LearningRateSchedule
    offered = {
        "learning_rate": rate,
        "steps_per_epoch": steps_per_epoch,
        "total_steps": total_steps,
    }
    made = itself_or_made(
        function, options, offered, ("step",), kind, "a learning-rate schedule of Keras'"
    )
    if isinstance(made, kind):
        return made
    return _OwnSchedule(function, made, steps_per_epoch if takes_epoch(made) else 1)


class _OwnSchedule(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
    """A function of the user's own as a schedule. It counts in units of so many steps, from 0."""

    def __init__(self, function: UserFunction, rate: Callable[[int], Any], steps: int) -> None:
        super().__init__()
        self._function, self._rate, self._steps = function, rate, steps
        self._rate_at(np.int64(0))

    def __call__(self, step: Any) -> Any:
        """Return the rate of a step, a float32 scalar. The function runs as Python, on the host."""
        at = tf.cast(step, tf.int64)
        if not isinstance(at, tf.Tensor) or tf.executing_eagerly():
            return tf.constant(self._rate_at(at.numpy()))
        with tf.device("CPU:0"):
            found = tf.numpy_function(self._rate_at, [at], tf.float32, stateful=False)
        found.set_shape(())
        return found

    def _rate_at(self, step: np.int64) -> np.float32:
        number = int(step) // self._steps
        rate = self._function.guarded(lambda: self._rate(number))
        try:
            return np.float32(rate)
        except (TypeError, ValueError) as error:
            raise UserCodeError(
                f"{self._function.name} gave {kind_in_words(rate)} for {number}, where the "
                "learning rate is needed.",
                [f"Let it return a number: line {self._function.line} of {self._function.file}."],
            ) from error

    def get_config(self) -> dict[str, Any]:
        """Keras asks for this where it saves an optimizer, which a run never does."""
        return {}


def _constant(
    rate: float, _options: dict[str, Any], _steps_per_epoch: int, _total_steps: int
) -> Rate:
    return rate


def _step(rate: float, options: dict[str, Any], steps_per_epoch: int, _total_steps: int) -> Rate:
    """A staircase: rate · drop^⌊step / period⌋."""
    period = steps_of(options, "every", steps_per_epoch)
    return keras.optimizers.schedules.ExponentialDecay(
        rate, period, options["drop"], staircase=True
    )


def _exponential(
    rate: float, options: dict[str, Any], steps_per_epoch: int, _total_steps: int
) -> Rate:
    """A curve: rate · decay^(step / period), the exponent rounded down if `staircase` is set."""
    period = steps_of(options, "every", steps_per_epoch)
    return keras.optimizers.schedules.ExponentialDecay(
        rate, period, options["decay"], staircase=options["staircase"]
    )


def _cosine(rate: float, options: dict[str, Any], steps_per_epoch: int, total_steps: int) -> Rate:
    """A linear warm-up of w steps, then half a cosine down to m · rate after all T steps.

    step < w:  rate · (1 + (w - 1) · step / w) / w, that is from rate / w at step 0 to rate at step
               w (Goyal et al. 2017, arXiv:1706.02677, section 2.2: gradual warm-up by equal
               increments);
    step ≥ w:  rate · (m + (1 - m) / 2 · (1 + cos(π · (step - w) / (T - w)))), m `minimum`
               (Loshchilov and Hutter 2016, arXiv:1608.03983, equation 5, one period).
    """
    warmup = steps_of(options, "warmup", steps_per_epoch)
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


def make_optimizer(
    training: Training,
    steps_per_epoch: int,
    total_steps: int,
    model: keras.Model | None = None,
) -> Any:
    """A new keras.optimizers.Optimizer for `model`, which may have been compiled with one.

    Make it inside the strategy's scope, after the precision has been set.

    Where the precision computes in float16, it comes wrapped in a LossScaleOptimizer, as `compile`
    would wrap it. Raises PlanRefused naming an unknown optimizer or option, a wrong value, or what
    the strategy cannot carry out; UserCodeError for what fails in the user's own.
    """
    compiled = compiled_optimizer(model) if training.optimizer in ("auto", COMPILED) else None
    if training.optimizer == COMPILED and compiled is None:
        raise not_compiled("training.optimizer", "an optimizer", "adam")
    if compiled is not None:
        optimizer = _as_compiled(compiled, training, steps_per_epoch, total_steps)
    else:
        optimizer = _made(training, steps_per_epoch, total_steps)
        if _is_float16() and not hasattr(optimizer, "inner_optimizer"):
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    _check_strategy(optimizer, tf.distribute.get_strategy())
    return optimizer


def build_optimizer(optimizer: Any, trained: Any, training: Training, model: Any) -> None:
    """Make the slots of the optimizer for what is `trained`: the model, or its placed layers.

    An optimizer that `model` was compiled with may have trained it before, or be loaded with it:
    then this one goes on from its steps and slots, as by `fit`.
    """
    variables = trained.trainable_variables
    optimizer.build(variables)
    before = compiled_optimizer(model) if keeps_optimizer(training, model) else None
    if before is None or before is optimizer or not before.built:
        return
    if [each.path for each in variables] != [each.path for each in model.trainable_variables]:
        return
    pairs = list(zip(before.variables, optimizer.variables, strict=False))
    if len(before.variables) == len(optimizer.variables) and all(
        old.shape == new.shape for old, new in pairs
    ):
        for old, new in pairs:
            new.assign(keras.ops.convert_to_numpy(old))


def optimizer_name(optimizer: Any) -> str:
    """The plan's name for a Keras optimizer; the name of its class for any other."""
    kind = type(getattr(optimizer, "inner_optimizer", optimizer)).__name__
    return keras_name(kind, OPTIMIZERS) or kind


def not_compiled(field: str, what: str, instead: str) -> PlanRefused:
    """Return the refusal of "compiled" at `field`, where the model brings none."""
    return PlanRefused(
        f'{field} is "{COMPILED}", but the model was not compiled with {what}.',
        [f"Let its function call model.compile with {what}.", f'Or write "{instead}".'],
    )


def averages(optimizer: Any) -> list[tuple[Any, Any]]:
    """Each variable that an optimizer trains with its moving average; empty if it keeps none.

    At its end, `fit` writes the averages into the model.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not getattr(inner, "use_ema", False):
        return []
    kept = inner._model_variables_moving_average  # noqa: SLF001 - Keras has no other way to them
    pairs = zip(inner._trainable_variables, kept, strict=True)  # noqa: SLF001
    return [(variable, average) for variable, average in pairs if average is not None]


def _as_compiled(compiled: Any, training: Training, steps_per_epoch: int, total_steps: int) -> Any:
    if training.options:
        raise PlanRefused(
            f"{_FIELD} are given, but the optimizer is the one that the model was compiled with.",
            ["Leave them out.", "Or name the optimizer they are for in training.optimizer."],
        )
    if compiled.built:  # for other variables, perhaps, and by another training
        compiled = type(compiled).from_config(compiled.get_config())
    if training.schedule is not None:
        set_rate(compiled, learning_rate(training, steps_per_epoch, total_steps))
    return compiled


def _made(training: Training, steps_per_epoch: int, total_steps: int) -> Any:
    rate = learning_rate(training, steps_per_epoch, total_steps)
    function = own_function("training", training.optimizer)
    if function is not None:
        offered = {
            "learning_rate": rate,
            "steps_per_epoch": steps_per_epoch,
            "total_steps": total_steps,
        }
        kind = keras.optimizers.Optimizer
        return itself_or_made(function, training.options, offered, (), kind, "a Keras optimizer")
    if "learning_rate" in training.options:
        raise PlanRefused(
            f"{_FIELD}.learning_rate stands where it has no effect.",
            ["Set training.learning_rate, or training.schedule."],
        )
    name = known("training.optimizer", optimizer_named(training.optimizer), OPTIMIZERS)
    factory = keras_class(keras.optimizers, name)
    return construct(_FIELD, name, factory, training.options, {"learning_rate": rate})


def _is_float16() -> bool:
    return str(keras.config.dtype_policy().compute_dtype) == "float16"


def _check_strategy(optimizer: Any, strategy: Any) -> None:
    if strategy.num_replicas_in_sync > 1:
        refuse_impossible(strategy, float16=hasattr(optimizer, "inner_optimizer"))


# Scripts have the function below as it stands, see `export.script_text`.


def set_rate(optimizer: Any, rate: Rate) -> None:
    """Let an optimizer train with this learning rate, be it a number or a schedule."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    scheduled = not isinstance(inner._learning_rate, keras.Variable)  # noqa: SLF001
    if isinstance(rate, float) and scheduled:  # which takes no number any more
        rate = keras.optimizers.schedules.PiecewiseConstantDecay([1], [rate, rate])
    inner.learning_rate = rate
