"""The losses and metrics that a plan names: Keras', and the user's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.losses.losses import LossFunctionWrapper

from gpu_studio.plan import Named, Training, shown
from gpu_studio.plan.keras_objects import (
    BETWEEN_VALUES,
    COMPILED,
    LOSSES,
    LOSSES_OF,
    METRICS,
    METRICS_OF,
    WHOLE_BATCH_LOSSES,
    auto_metric,
    is_of_class_1,
    result_name,
    takes_class,
)
from gpu_studio.plan.targets import in_words
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import DataError, PlanRefused
from gpu_studio.trainer.keras_objects.as_compiled import Guard, unguarded
from gpu_studio.trainer.keras_objects.forms import OutputForm, Wants, laid_out, laid_out_weight
from gpu_studio.trainer.keras_objects.given import Batches, GivenMetric, given_metric, in_two
from gpu_studio.trainer.keras_objects.named import (
    JUDGING,
    construct,
    fitting,
    itself_or_made,
    keras_class,
    own_function,
    parameters,
)
from gpu_studio.trainer.user_code.telling import begins_in, kind_in_words

_PLAIN = Wants()
_ONE_HOT = Wants(one_hot=True)
_SHARES = Wants(one_hot=True, probabilities=True)
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
    **dict.fromkeys(WHOLE_BATCH_LOSSES, _SHARES),
}


@dataclass(frozen=True, slots=True)
class SampleLoss:
    """A Keras loss that accepts the data's targets and the model's outputs as they are.

    `name` is the plan's name for it, never "auto". One that is `given`, by the user or a compiled
    model, takes targets and outputs as they are, such as `examples`; `guard` explains what goes
    wrong in it. A loss `of batches` gives none for a sample, which has that of its part of a batch.
    """

    name: str
    keras_loss: Any
    form: OutputForm
    wants: Wants = _PLAIN
    given: bool = False
    guard: Guard = unguarded
    of_batches: bool = False
    examples: Batches = field(default=(), repr=False, compare=False)

    @property
    def sums(self) -> bool:
        """Whether the loss of a batch is the sum over its numbers, and not their mean."""
        return bool(self.keras_loss.reduction == "sum")

    @property
    def apart(self) -> bool:
        """Whether it leaves its numbers apart, for `fit` to sum their gradients."""
        return self.given and not self.of_batches and self.keras_loss.reduction in (None, "none")

    def numbers(self, targets: Any, outputs: Any) -> Any:
        """How many numbers it has for a sample, a float32 scalar."""
        losses = self._called(targets, outputs)
        return tf.cast(tf.size(losses) / tf.shape(losses)[0], tf.float32)

    def __call__(self, targets: Any, outputs: Any) -> Any:
        """The loss of each sample, float32 (batch,)."""
        return self.judged(targets, outputs)[0]

    def judged(self, targets: Any, outputs: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Return the loss of each sample, and which share of its numbers counts.

        `sample_weight` multiplies the losses; it has one number a sample, or one a loss. The mean
        over the batch divides by the number of losses, not by the weights. The share is None where
        all count. It is not where layers or the loss mask some: then the
        mean is over those that count, and the sums over the batch of both are to be divided.
        """
        losses = self._called(targets, outputs)
        masks = [mask for mask in map(_mask_of, (outputs, losses)) if mask is not None]
        losses = tf.cast(losses, tf.float32)
        if self.of_batches:
            losses = tf.fill(tf.shape(outputs)[:1], tf.reduce_mean(losses))
        weights = None if sample_weight is None else _like(losses, sample_weight)
        if weights is not None:
            losses *= weights
        mask = reduce(tf.multiply, [tf.cast(each, tf.float32) for each in masks]) if masks else None
        if mask is not None:
            losses *= mask
        if self.sums:
            return _of_each(losses, tf.reduce_sum), None
        if self.keras_loss.reduction == "mean_with_sample_weight" and weights is not None:
            mask = weights if mask is None else mask * weights
        if mask is None or self.apart:
            return _of_each(losses), None
        return _of_each(losses), _of_each(tf.broadcast_to(mask, tf.shape(losses)))

    def shape_of(self, targets: Any, outputs: Any) -> tuple[int, ...]:
        """The shape of what the loss gives for these. Raises PlanRefused if it is no tensor."""
        given = self._called(targets, outputs)
        if not hasattr(given, "shape"):
            raise PlanRefused(
                f"The loss {self.name} gave {kind_in_words(given)}, where a number for each sample "
                "is needed, or one for the whole batch.",
                ["Let it end with: return loss.", *begins_in(self.function)],
            )
        return tuple(given.shape)

    def is_mixing(self) -> bool:
        """Whether a sample's loss depends on the others of its batch, as far as `examples` show it.

        Two batches then have other losses as one, or one of them in two pieces, where they do not
        join. Ask where batches come in parts only: it calls the loss, which may count its calls.
        """
        shown = self.examples
        for pieces in (shown, in_two(*shown[0])) if len(shown) == 2 else ():
            try:
                with keras.StatelessScope():
                    both = [tf.concat(each, axis=0) for each in zip(*pieces, strict=True)]
                    whole, again = (np.asarray(self._called(*both)) for _ in range(2))
                    parts = [np.asarray(self._called(*each)) for each in pieces]
                joined, draws = np.concatenate(parts), not np.allclose(whole, again, equal_nan=True)
                return not draws and not np.allclose(joined, whole, 1e-3, 1e-5, equal_nan=True)
            except Exception:  # noqa: BLE001, S112 - a user's own code can raise anything
                continue
        return False

    def _called(self, targets: Any, outputs: Any) -> Any:
        return self.guard(
            lambda: self.keras_loss.call(*self._pair(targets, outputs)), f"in the loss {self.name}"
        )

    @property
    def function(self) -> Any:
        """What computes the losses."""
        return getattr(self.keras_loss, "fn", self.keras_loss.call)

    def _pair(self, targets: Any, outputs: Any) -> tuple[Any, Any]:
        if not self.given:
            return self.form.labels(self.wants, targets), self.form.predictions(self.wants, outputs)
        # As `Loss.__call__` gives them, which only the reduction follows.
        kind = self.keras_loss.dtype
        as_kind = keras.ops.convert_to_tensor
        return as_kind(targets, dtype=kind), as_kind(outputs, dtype=kind)


def _like(losses: Any, weight: Any) -> Any:
    """Return the weights, float32, with as many axes as the losses have. Raises DataError."""
    if any(size not in (1, None) for size in weight.shape[len(losses.shape) :]):
        one = _of_samples(losses.shape)
        raise DataError(
            f"The sample weights have the shape {_of_samples(weight.shape)}, and the losses that "
            f"they are to weigh {one}.",
            [f"Give sample weights of shape {one}."],
        )
    for _ in range(len(weight.shape) - len(losses.shape)):
        weight = tf.squeeze(weight, axis=-1)
    for _ in range(len(losses.shape) - len(weight.shape)):
        weight = tf.expand_dims(weight, axis=-1)
    return tf.cast(weight, tf.float32)


def _of_samples(shape: Any) -> str:
    return str(("samples", *shape[1:])).replace("'", "")


def _mask_of(tensor: Any) -> Any:
    return getattr(tensor, "_keras_mask", None)


def _of_each(numbers: Any, reduced: Any = tf.reduce_mean) -> Any:
    """Return the mean of each sample, or what else its numbers are `reduced` to."""
    rank = len(numbers.shape)
    return reduced(numbers, axis=list(range(1, rank))) if rank > 1 else numbers


def make_loss(
    training: Training,
    dataset: Dataset,
    form: OutputForm,
    field: str = "training",
    batches: Batches = (),
) -> SampleLoss:
    """The loss that the part `field` of a plan names for these data with one target.

    `batches` show what a loss of the user's own makes of targets and outputs.

    "auto" is the cross-entropy for classes, the binary one for what is 0 or 1 each, and the squared
    error for values.

    Class ids become one-hot labels and logits become probabilities where the loss wants them;
    `from_logits` is what the model ends in by their `form`, unless the plan says otherwise. Raises
    PlanRefused for a loss that does not fit the data's task, and for unknown options or wrong
    values; UserCodeError for what goes wrong in the user's own.
    """
    options = training.loss.options
    function = own_function(f"{field}.loss", training.loss.name)
    if function is not None:
        what = "a Keras loss"
        made = itself_or_made(function, options, {}, JUDGING, keras.losses.Loss, what)
        return given_loss(made, function.name, form, function.guarded, batches)
    name = _loss_name(f"{field}.loss.name", training.loss, dataset, form)
    factory = keras_class(keras.losses, name)
    logits = {"from_logits": form.logits} if "from_logits" in parameters(factory) else {}
    fixed = {"reduction": None}
    keras_loss = construct(f"{field}.loss.options", name, factory, {**logits, **options}, fixed)
    of_batches = name in WHOLE_BATCH_LOSSES and 0 in (options.get("axis") or (0,))
    wants = LOSS_WANTS.get(name, Wants())
    return SampleLoss(name, keras_loss, form, wants, of_batches=of_batches)


def given_loss(
    made: Any, name: str, form: OutputForm, guard: Guard, batches: Batches
) -> SampleLoss:
    """A Keras loss, or a function of targets and outputs, that is taken as it is.

    `batches` show what it makes of targets and outputs. Raises PlanRefused if that is no loss.
    """
    function = not isinstance(made, keras.losses.Loss)
    loss = LossFunctionWrapper(made, name=name) if function else made
    found = SampleLoss(name, loss, form, given=True, guard=guard)
    shapes = [found.shape_of(*each) for each in batches]
    rows = [len(keras.tree.flatten(targets)[0]) for targets, _outputs in batches]
    apart = all(shape[:1] == (count,) for shape, count in zip(shapes, rows, strict=True))
    return replace(found, of_batches=not apart, examples=batches)


def no_loss(form: OutputForm) -> SampleLoss:
    """The loss of an output that learns nothing: 0, whatever it gives."""
    zero = LossFunctionWrapper(lambda _targets, made: tf.zeros(tf.shape(made)[:1]), name="none")
    return SampleLoss("none", zero, form, given=True)


def _loss_name(field: str, loss: Named, dataset: Dataset, form: OutputForm) -> str:
    names = LOSSES_OF[form.kind]
    return (
        names[0]
        if loss.name == "auto"
        else fitting(field, loss.name, names, LOSSES, _targets(dataset, form))
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


# The metrics that want something else than class ids and logits, or values.
METRIC_WANTS: dict[str, Wants] = {
    "categorical_accuracy": _ONE_HOT,
    "top_k_categorical_accuracy": _ONE_HOT,
    "categorical_crossentropy": _ONE_HOT,
    "categorical_hinge": _ONE_HOT,
    "auc": _SHARES,
    "f1_score": _SHARES,
    "fbeta_score": _SHARES,
    "precision": _SHARES,
    "recall": _SHARES,
    "precision_at_recall": _SHARES,
    "recall_at_precision": _SHARES,
    "sensitivity_at_specificity": _SHARES,
    "specificity_at_sensitivity": _SHARES,
    "kl_divergence": _SHARES,
    "binary_accuracy": _SHARES,
    "binary_crossentropy": _ONE_HOT,
    "one_hot_mean_iou": _ONE_HOT,
    "one_hot_iou": _ONE_HOT,
    "binary_iou": _SHARES,
    "hinge": _ONE_HOT,
    "squared_hinge": _ONE_HOT,
    "true_positives": _SHARES,
    "true_negatives": _SHARES,
    "false_positives": _SHARES,
    "false_negatives": _SHARES,
}
# "accuracy" means what `compile` takes it to mean.
CLASSES = {"accuracy": "sparse_categorical_accuracy"}


def accuracy_of(form: OutputForm) -> str:
    """Return the metric that `compile` takes "accuracy" for."""
    if form.kind == "binary" and form.units == 1:
        return "binary_accuracy"
    return CLASSES["accuracy"] if form.kind == "classes" else "categorical_accuracy"


def make_metrics(
    training: Training,
    dataset: Dataset,
    form: OutputForm,
    field: str = "training",
    batches: Batches = (),
    compiled: Sequence[GivenMetric] | None = None,
) -> list[Any]:
    """Make the metrics that the part `field` of a plan names for these data with one target.

    Each takes (targets, outputs, sample_weight). `compiled` are those that "auto" stands for where
    the model was compiled.

    They are keras.metrics.Metric objects, and `GivenMetric` for the user's own. "auto" is
    "accuracy" for classes and "mean_absolute_error" for values, and for several labels
    "binary_accuracy"; "accuracy" is what `compile` takes it for, mostly the share of samples whose
    largest output is their class. Precision, recall and AUC of two classes are
    those of class 1. A metric that wants one-hot labels or probabilities gets them. Metrics are
    named as Keras names them, without its running numbers. Raises PlanRefused for a metric that
    does not fit the data's task, for unknown options and for wrong values; UserCodeError for what
    goes wrong in the user's own.
    """
    metrics = [
        _own_metric(f"{field}.metrics[{index}]", named, batches)
        or _metric(f"{field}.metrics[{index}]", named, dataset, form)
        for index, named in enumerate(training.metrics)
        if compiled is None or named.name not in ("auto", COMPILED)
    ]
    if compiled is not None and any(each.name in ("auto", COMPILED) for each in training.metrics):
        metrics += compiled
    names = Counter(metric.name for metric in metrics)
    repeated = [name for name, count in names.items() if count > 1]
    if repeated:
        raise PlanRefused(f"{field}.metrics names {repeated[0]} twice.", ["Name each metric once."])
    return metrics


def _own_metric(field: str, named: Named, batches: Batches) -> GivenMetric | None:
    function = own_function(field, named.name)
    if function is None:
        return None
    kind = keras.metrics.Metric
    made = itself_or_made(function, named.options, {}, JUDGING, kind, "a Keras metric")
    return given_metric(made, function.guarded, batches)


def _metric(field: str, named: Named, dataset: Dataset, form: OutputForm) -> Any:
    name = _metric_name(f"{field}.name", named, dataset, form)
    factory = keras_class(keras.metrics, accuracy_of(form) if name == "accuracy" else name)
    takes = parameters(factory)
    wants = _metric_wants(name, named, form, takes)
    by_class = takes_class(name, named.options)
    fixed: dict[str, Any] = {"name": result_name(name)}
    if "from_logits" in takes and wants.probabilities:
        fixed["from_logits"] = False
    if name.endswith("iou"):
        # Ids of classes and scores of each, or one-hot labels.
        settings = {"sparse_y_true": not wants.one_hot, "sparse_y_pred": False, "axis": -1}
        fixed |= {key: value for key, value in settings.items() if key in takes}
    if name in BETWEEN_VALUES and form.units == 1:
        raise PlanRefused(
            f"{field}.name is {shown(named.name)}, which compares the values of each sample with "
            "one another, and here a sample has one.",
            ['Write "auto".', "Or choose r2_score, which compares over the samples."],
        )
    defaults = {
        "from_logits": form.logits,
        "average": "macro",  # Keras' default gives one number per class
        "num_classes": form.classes,
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
                sample_weight = laid_out_weight(sample_weight, mask, predictions)
                labels = laid_out(labels, len(form.shape) - 1)
                predictions = laid_out(predictions, len(form.shape) - 1)
            return super().update_state(labels, predictions, sample_weight=sample_weight)

    Adapted.__name__ = Adapted.__qualname__ = metric_class.__name__
    return Adapted
