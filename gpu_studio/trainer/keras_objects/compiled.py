"""What a plan compiles a model with: its optimizer, its loss and its metrics, by Keras' names.

Targets are class ids or values; outputs are logits unless the model itself ends in a softmax or
sigmoid. Both are converted for each loss and metric as it wants them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.plan.catalogue import SCHEDULES
from gpu_studio.plan.devices import ONE_REPLICA_OPTIONS
from gpu_studio.plan.keras_objects import (
    AUTO_METRICS,
    LOSSES,
    LOSSES_OF,
    METRICS,
    METRICS_OF,
    OPTIMIZERS,
    is_of_class_1,
    result_name,
    takes_class,
)
from gpu_studio.plan.values import Named, Training
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import (
    construct,
    fitting,
    keras_class,
    known,
    parameters,
)
from gpu_studio.trainer.model_layers import sole_output
from gpu_studio.trainer.strategies import refuse_impossible

_FEW = 8
_NEAR = 1e-2
"""Shares in half precision add up to 1 only so nearly."""


@dataclass(frozen=True, slots=True)
class Wants:
    """What a Keras class takes: `one_hot` labels instead of ids; `probabilities` instead of scores.

    Where there are two classes, it may want the column of `class_1` alone.
    """

    one_hot: bool = False
    probabilities: bool = False
    class_1: bool = False


@dataclass(frozen=True, slots=True)
class OutputForm:
    """What the data and the model give a loss or metric.

    `classes` is None for values; `logits` says whether the model's outputs are logits.
    """

    classes: int | None
    logits: bool

    @classmethod
    def of(cls, dataset: Dataset, model: keras.Model) -> OutputForm:
        """Return it for these data and this model."""
        return cls(dataset.classes, ends_in_logits(model, dataset))

    def labels(self, wants: Wants, targets: Any) -> Any:
        """Convert targets as wanted.

        Class ids (batch,), one-hot (batch, classes), or values (batch, 1).
        """
        if not wants.one_hot:
            return targets
        return self._columns(wants, keras.ops.one_hot(targets, self.classes, dtype="float32"))

    def predictions(self, wants: Wants, outputs: Any) -> Any:
        """Convert outputs to float32, and to probabilities by a softmax if wanted."""
        outputs = keras.ops.cast(outputs, "float32")
        return self._columns(
            wants, keras.ops.softmax(outputs) if wants.probabilities and self.logits else outputs
        )

    def _columns(self, wants: Wants, of_all: Any) -> Any:
        return of_all[:, 1:2] if wants.class_1 and self.classes == 2 else of_all


def ends_in_logits(model: keras.Model, dataset: Dataset) -> bool:
    """Return whether the model's outputs are unbounded scores.

    False if its last layer is, or has, a softmax or sigmoid. Any other last layer may pass on or
    mix the result of a softmax, as the mean of two heads does: then the model's outputs for a few
    samples decide.
    """
    # Keras' only record of which layer made a tensor.
    last = model.outputs[0]._keras_history.operation  # noqa: SLF001
    activation = getattr(getattr(last, "activation", None), "__name__", "")
    if type(last).__name__ in {"Softmax", "Sigmoid"} or activation in {"softmax", "sigmoid"}:
        return False
    return dataset.classes is None or not _are_shares(model, dataset)


def _are_shares(model: keras.Model, dataset: Dataset) -> bool:
    # A model may be built for a single batch size.
    rows = np.arange(model.inputs[0].shape[0] or _FEW) % len(dataset.train)
    with (
        keras.StatelessScope()
    ):  # this trial call leaves the model's random states and statistics unchanged
        outputs = sole_output(model(dataset.train.seen(rows), training=False))
    given = np.asarray(keras.ops.convert_to_numpy(outputs), np.float64)
    return bool(np.all(given >= 0) and np.allclose(given.sum(axis=-1), 1, atol=_NEAR))


_ONE_HOT = Wants(one_hot=True)
# The losses that want something else than class ids and logits, or values.
LOSS_WANTS: dict[str, Wants] = {
    "categorical_crossentropy": _ONE_HOT,
    "categorical_focal_crossentropy": _ONE_HOT,
    "categorical_generalized_cross_entropy": Wants(probabilities=True),
    "categorical_hinge": _ONE_HOT,
    "kl_divergence": Wants(one_hot=True, probabilities=True),
    "binary_crossentropy": _ONE_HOT,
    "binary_focal_crossentropy": _ONE_HOT,
    "hinge": _ONE_HOT,
    "squared_hinge": _ONE_HOT,
}


@dataclass(frozen=True, slots=True)
class SampleLoss:
    """A Keras loss that accepts the data's targets and the model's outputs as they are.

    `name` is the plan's name for it, never "auto".
    """

    name: str
    keras_loss: Any
    form: OutputForm
    wants: Wants

    def __call__(self, targets: Any, outputs: Any) -> Any:
        """The loss of each sample, float32 (batch,).

        Targets are (batch,) or (batch, 1), outputs (batch, units).
        """
        labels = self.form.labels(self.wants, targets)
        return self.keras_loss(labels, self.form.predictions(self.wants, outputs))


def make_loss(training: Training, dataset: Dataset, form: OutputForm) -> SampleLoss:
    """The loss of a plan for these data.

    "auto" is cross-entropy for classes and the squared error for values.

    Class ids become one-hot labels and logits become probabilities where the loss wants them;
    `from_logits` is what the model ends in by their `form`, unless the plan says otherwise. Raises
    PlanRefused for a loss that does not fit the data's task, and for unknown options or wrong
    values.
    """
    name = _loss_name(training.loss, dataset)
    factory = keras_class(keras.losses, name)
    logits = {"from_logits": form.logits} if "from_logits" in parameters(factory) else {}
    options = {**logits, **training.loss.options}
    keras_loss = construct("training.loss.options", name, factory, options, {"reduction": None})
    return SampleLoss(name, keras_loss, form, LOSS_WANTS.get(name, Wants()))


def _loss_name(loss: Named, dataset: Dataset) -> str:
    names = LOSSES_OF[dataset.task]
    return (
        names[0]
        if loss.name == "auto"
        else fitting("training.loss.name", loss.name, names, LOSSES, dataset)
    )


_PROBABILITIES = Wants(one_hot=True, probabilities=True)
# The metrics that want something else than class ids and logits, or values.
METRIC_WANTS: dict[str, Wants] = {
    "categorical_accuracy": _ONE_HOT,
    "top_k_categorical_accuracy": _ONE_HOT,
    "categorical_crossentropy": _ONE_HOT,
    "categorical_hinge": _ONE_HOT,
    "auc": _PROBABILITIES,
    "f1_score": _PROBABILITIES,
    "fbeta_score": _PROBABILITIES,
    "precision": _PROBABILITIES,
    "recall": _PROBABILITIES,
    "precision_at_recall": _PROBABILITIES,
    "recall_at_precision": _PROBABILITIES,
    "sensitivity_at_specificity": _PROBABILITIES,
    "specificity_at_sensitivity": _PROBABILITIES,
    "kl_divergence": _PROBABILITIES,
}
# "accuracy" means what `compile` takes it to mean where targets are class ids.
CLASSES = {"accuracy": "sparse_categorical_accuracy"}


def make_metrics(training: Training, dataset: Dataset, form: OutputForm) -> list[Any]:
    """Make the plan's keras.metrics.Metric objects; each takes (targets, outputs, sample_weight).

    "auto" is "accuracy" for classes and "mean_absolute_error" for values; "accuracy" is the share
    of samples whose largest output is their class. Precision, recall and AUC of two classes are
    those of class 1. A metric that wants one-hot labels or probabilities gets them. Metrics are
    named as Keras names them, without its running numbers. Raises PlanRefused for a metric that
    does not fit the data's task or is named twice, for unknown options and for wrong values.
    """
    metrics = [_metric(index, named, dataset, form) for index, named in enumerate(training.metrics)]
    repeated = [
        name for name, count in Counter(metric.name for metric in metrics).items() if count > 1
    ]
    if repeated:
        raise PlanRefused(
            f"training.metrics names {repeated[0]} twice.", ["Name each metric once."]
        )
    return metrics


def _metric(index: int, named: Named, dataset: Dataset, form: OutputForm) -> Any:
    field = f"training.metrics[{index}]"
    name = _metric_name(f"{field}.name", named, dataset)
    factory, wants = (
        keras_class(keras.metrics, CLASSES.get(name, name)),
        METRIC_WANTS.get(name, Wants()),
    )
    takes = parameters(factory)
    by_class = takes_class(name, named.options)
    if is_of_class_1(name, named.options) and not by_class:
        wants = replace(wants, class_1=True)
    fixed: dict[str, Any] = {"name": result_name(name)}
    if "from_logits" in takes and wants.probabilities:
        fixed["from_logits"] = False
    defaults = {
        "from_logits": form.logits,
        "average": "macro",  # Keras' default gives one number per class
        "class_id": 1 if by_class and form.classes == 2 else None,
    }
    wanted = {
        key: value
        for key, value in defaults.items()
        if key in takes and key not in fixed and value is not None
    }
    options = {**wanted, **named.options}
    return construct(f"{field}.options", name, _adapted(factory, form, wants), options, fixed)


def _metric_name(field: str, named: Named, dataset: Dataset) -> str:
    if named.name == "auto":
        return AUTO_METRICS[dataset.task]
    return fitting(field, named.name, METRICS_OF[dataset.task], METRICS, dataset)


def _adapted(metric_class: Any, form: OutputForm, wants: Wants) -> Any:
    """The class itself, except that it is given targets and outputs in the form that it wants."""

    class Adapted(metric_class):  # type: ignore[misc]  # Keras has no types
        def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            labels, predictions = form.labels(wants, y_true), form.predictions(wants, y_pred)
            return super().update_state(labels, predictions, sample_weight=sample_weight)

    Adapted.__name__ = Adapted.__qualname__ = metric_class.__name__
    return Adapted


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
    """A curve: rate · decay^(step / period), the exponent rounded down if `staircase` is set."""
    period = options["every_steps"] or options["every_epochs"] * steps_per_epoch
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
                f"Keras cannot carry out {_FIELD}.{option} on {strategy.num_replicas_in_sync} "
                "replicas.",
                [f"Leave {option} out.", 'Train on one device: distribution.strategy = "none".'],
            )
    refuse_impossible(strategy, training, float16=float16)
