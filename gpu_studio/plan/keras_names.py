"""The optimizers, losses and metrics of Keras that a plan can name, and the task each is for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Task = Literal["classes", "values"]

OPTIMIZERS = (
    "sgd",
    "rmsprop",
    "adam",
    "adamw",
    "adadelta",
    "adagrad",
    "adamax",
    "adafactor",
    "nadam",
    "ftrl",
    "lion",
    "muon",
)

# Left out: losses that compare whole batches (circle), sequences (ctc) or images (dice, tversky),
# because they give no number per sample; and those that suit neither class scores nor values that
# may be negative.
LOSSES_OF: dict[Task, tuple[str, ...]] = {
    "classes": (
        "sparse_categorical_crossentropy",
        "categorical_crossentropy",
        "categorical_focal_crossentropy",
        "categorical_generalized_cross_entropy",
        "categorical_hinge",
        "kl_divergence",
        "binary_crossentropy",
        "binary_focal_crossentropy",
        "hinge",
        "squared_hinge",
    ),
    "values": (
        "mean_squared_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "mean_squared_logarithmic_error",
        "huber",
        "log_cosh",
    ),
}

# Left out: correlations, because their states are not sums that replicas could add up.
METRICS_OF: dict[Task, tuple[str, ...]] = {
    "classes": (
        "accuracy",
        "sparse_categorical_accuracy",
        "sparse_top_k_categorical_accuracy",
        "sparse_categorical_crossentropy",
        "categorical_accuracy",
        "top_k_categorical_accuracy",
        "categorical_crossentropy",
        "categorical_hinge",
        "auc",
        "f1_score",
        "fbeta_score",
        "precision",
        "recall",
        "precision_at_recall",
        "recall_at_precision",
        "sensitivity_at_specificity",
        "specificity_at_sensitivity",
        "kl_divergence",
    ),
    "values": (
        "mean_absolute_error",
        "mean_squared_error",
        "root_mean_squared_error",
        "mean_absolute_percentage_error",
        "mean_squared_logarithmic_error",
        "log_cosh_error",
        "r2_score",
    ),
}

LOSSES = ("auto", *LOSSES_OF["classes"], *LOSSES_OF["values"])
"""Every loss.

`auto` is the first of its task: the cross-entropy for classes, the squared error for values.
"""

METRICS = ("auto", *METRICS_OF["classes"], *METRICS_OF["values"])
"""Every metric.

`auto` is the first of its task: the accuracy for classes, the absolute error for values.
"""

AUTO_METRICS: dict[Task, str] = {task: names[0] for task, names in METRICS_OF.items()}

_SHORT = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "rmse": "root_mean_squared_error",
    "bce": "binary_crossentropy",
    "kld": "kl_divergence",
    "acc": "accuracy",
}
_RESULTS = {"log_cosh_error": "logcosh"}


def keras_name(name: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `name` means, in any of Keras' spellings; None if there is none.

    Keras has `MeanSquaredError`, `mean_squared_error` and `mse` for the same thing.
    """
    full = _squeezed(_SHORT.get(name.lower(), name))
    return next((each for each in known if _squeezed(each) == full), None)


def result_name(metric: str) -> str:
    """The name of a metric's result in Keras, for the plan's name `metric`."""
    name = keras_name(metric, METRICS) or metric
    return _RESULTS.get(name, name)


def _squeezed(name: str) -> str:
    return name.replace("_", "").lower()
