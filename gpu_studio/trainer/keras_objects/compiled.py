"""What a plan compiles a model with: its optimizer, its loss and its metrics, by Keras' names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.plan.catalogue import SCHEDULES
from gpu_studio.plan.devices import ONE_REPLICA_OPTIONS
from gpu_studio.plan.keras_objects import (
    LOSSES,
    LOSSES_OF,
    METRICS,
    METRICS_OF,
    OPTIMIZERS,
    auto_metric,
    is_of_class_1,
    result_name,
    takes_class,
)
from gpu_studio.plan.targets import in_words
from gpu_studio.plan.values import Named, Training
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.forms import OutputForm, Wants
from gpu_studio.trainer.keras_objects.named import (
    construct,
    fitting,
    keras_class,
    known,
    parameters,
)
from gpu_studio.trainer.strategies import refuse_impossible

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
        """The loss of each sample, float32 (batch,)."""
        return self.judged(targets, outputs)[0]

    def judged(self, targets: Any, outputs: Any) -> tuple[Any, Any]:
        """Return the loss of each sample, and which share of its numbers counts.

        The share is None where all count. It is not where layers or the loss mask some: then the
        mean is over those that count, and the sums over the batch of both are to be divided.
        """
        predictions = self.form.predictions(self.wants, outputs)
        losses = self.keras_loss.call(self.form.labels(self.wants, targets), predictions)
        masks = [mask for mask in map(_mask_of, (outputs, losses)) if mask is not None]
        losses = tf.cast(losses, tf.float32)
        if not masks:
            return _of_each(losses), None
        counting = reduce(tf.logical_and, [tf.cast(mask, tf.bool) for mask in masks])
        counted = tf.cast(tf.broadcast_to(counting, tf.shape(losses)), tf.float32)
        return _of_each(losses * counted), _of_each(counted)


def _mask_of(tensor: Any) -> Any:
    return getattr(tensor, "_keras_mask", None)


def _of_each(numbers: Any) -> Any:
    """Return the mean of each sample."""
    rank = len(numbers.shape)
    return tf.reduce_mean(numbers, axis=list(range(1, rank))) if rank > 1 else numbers


def make_loss(training: Training, dataset: Dataset, form: OutputForm) -> SampleLoss:
    """The loss of a plan for these data.

    "auto" is the cross-entropy for classes, the binary one for what is 0 or 1 each, and the squared
    error for values.

    Class ids become one-hot labels and logits become probabilities where the loss wants them;
    `from_logits` is what the model ends in by their `form`, unless the plan says otherwise. Raises
    PlanRefused for a loss that does not fit the data's task, and for unknown options or wrong
    values.
    """
    name = _loss_name(training.loss, dataset, form)
    factory = keras_class(keras.losses, name)
    logits = {"from_logits": form.logits} if "from_logits" in parameters(factory) else {}
    options = {**logits, **training.loss.options}
    keras_loss = construct("training.loss.options", name, factory, options, {"reduction": None})
    return SampleLoss(name, keras_loss, form, LOSS_WANTS.get(name, Wants()))


def _loss_name(loss: Named, dataset: Dataset, form: OutputForm) -> str:
    names = LOSSES_OF[form.kind]
    return (
        names[0]
        if loss.name == "auto"
        else fitting("training.loss.name", loss.name, names, LOSSES, _targets(dataset, form))
    )


def _targets(dataset: Dataset, form: OutputForm) -> str:
    """Say what the targets are, for a loss or metric that does not fit them."""
    if form.kind == "classes":
        what = f"ids of {form.classes} classes, and the model has an output for each"
    elif form.kind == "one_hot":
        what = f"one-hot labels of {form.classes} classes, and the model has an output for each"
    elif form.kind == "binary":
        what = "0 or 1, and the model has an output for each"
    elif form.shape in ((), (1,)):
        what = "measured values, one a sample"
    else:
        what = f"values, {in_words(dataset.target)} a sample"
    return f"{dataset.name}: its targets are {what}"


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
    "binary_accuracy": _PROBABILITIES,
    "binary_crossentropy": _ONE_HOT,
}
# "accuracy" means what `compile` takes it to mean.
CLASSES = {"accuracy": "sparse_categorical_accuracy"}


def accuracy_of(form: OutputForm) -> str:
    """Return the metric that `compile` takes "accuracy" for."""
    if form.kind == "binary" and form.units == 1:
        return "binary_accuracy"
    return CLASSES["accuracy"] if form.kind == "classes" else "categorical_accuracy"


def make_metrics(training: Training, dataset: Dataset, form: OutputForm) -> list[Any]:
    """Make the plan's keras.metrics.Metric objects; each takes (targets, outputs, sample_weight).

    "auto" is "accuracy" for classes and "mean_absolute_error" for values, and for several labels
    "binary_accuracy"; "accuracy" is what `compile` takes it for, mostly the share of samples whose
    largest output is their class. Precision, recall and AUC of two classes are
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
    name = _metric_name(f"{field}.name", named, dataset, form)
    factory = keras_class(keras.metrics, accuracy_of(form) if name == "accuracy" else name)
    takes = parameters(factory)
    wants = _metric_wants(name, named, form, takes)
    by_class = takes_class(name, named.options)
    fixed: dict[str, Any] = {"name": result_name(name)}
    if "from_logits" in takes and wants.probabilities:
        fixed["from_logits"] = False
    defaults = {
        "from_logits": form.logits,
        "average": "macro",  # Keras' default gives one number per class
        "class_id": 1 if by_class and form.classes == 2 else None,
        # Keras' default asks whether an output is the largest of its sample.
        "threshold": 0.5 if form.kind == "binary" and "average" in takes else None,
    }
    wanted = {
        key: value
        for key, value in defaults.items()
        if key in takes and key not in fixed and value is not None
    }
    options = {**wanted, **named.options}
    return construct(f"{field}.options", name, _adapted(factory, form, wants), options, fixed)


def _metric_wants(name: str, named: Named, form: OutputForm, takes: Collection[str]) -> Wants:
    if form.kind == "binary":
        return Wants(one_hot=True, probabilities="from_logits" not in takes)
    wants = METRIC_WANTS.get(name, Wants())
    if name == "accuracy" and form.kind == "one_hot":
        wants = _ONE_HOT
    if is_of_class_1(name, named.options) and not takes_class(name, named.options):
        wants = replace(wants, class_1=True)
    return wants


def _metric_name(field: str, named: Named, dataset: Dataset, form: OutputForm) -> str:
    if named.name == "auto":
        return auto_metric(form.kind, form.units)
    return fitting(field, named.name, METRICS_OF[form.kind], METRICS, _targets(dataset, form))


def _adapted(metric_class: Any, form: OutputForm, wants: Wants) -> Any:
    """The class itself, except that it is given targets and outputs in the form that it wants.

    Whatever has more axes is laid out as one long row of samples, of which each has the weight of
    its own sample: not all metrics take more. What a layer masks does not count in a mean.
    """
    masked = issubclass(metric_class, keras.metrics.MeanMetricWrapper)

    class Adapted(metric_class):  # type: ignore[misc]  # Keras has no types
        def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            labels, predictions = form.labels(wants, y_true), form.predictions(wants, y_pred)
            mask = _mask_of(y_pred) if masked else None
            if len(form.shape) > 1 or mask is not None:
                sample_weight = _laid_out_weight(sample_weight, mask, predictions)
                labels = _laid_out(labels, len(form.shape) - 1)
                predictions = _laid_out(predictions, len(form.shape) - 1)
            return super().update_state(labels, predictions, sample_weight=sample_weight)

    Adapted.__name__ = Adapted.__qualname__ = metric_class.__name__
    return Adapted


def _laid_out(numbers: Any, axes: int) -> Any:
    """Return the numbers with this many axes joined to that of the samples."""
    return keras.ops.reshape(numbers, (-1, *numbers.shape[1 + axes :]))


def _laid_out_weight(weight: Any, mask: Any, predictions: Any) -> Any:
    shape = tf.shape(predictions)[:-1]
    weight = tf.ones(shape[:1]) if weight is None else tf.cast(weight, tf.float32)
    each = tf.reshape(weight, tf.concat([shape[:1], tf.ones_like(shape[1:])], axis=0))
    counted = tf.broadcast_to(each, shape)
    if mask is not None:
        counted *= tf.cast(mask, tf.float32)
    return tf.reshape(counted, (-1,))


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
