"""The metrics of a plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import keras

from gpu_studio.plan.keras_names import AUTO_METRICS, METRICS, METRICS_OF, result_name
from gpu_studio.plan.keras_options import is_of_class_1, takes_class
from gpu_studio.plan.values import Named, Training
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import construct, fitting, keras_class, parameters
from gpu_studio.trainer.keras_objects.tasks import OutputForm, Wants

_ONE_HOT = Wants(one_hot=True)
_PROBABILITIES = Wants(one_hot=True, probabilities=True)
# The metrics that want something else than class ids and logits, or values.
WANTS: dict[str, Wants] = {
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
    name = _name(f"{field}.name", named, dataset)
    factory, wants = keras_class(keras.metrics, CLASSES.get(name, name)), WANTS.get(name, Wants())
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


def _name(field: str, named: Named, dataset: Dataset) -> str:
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
