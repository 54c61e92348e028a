"""The optimizers, losses and metrics of Keras that a plan can name, with their options.

Also the task that each is for, and which of two values of a metric is better.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Literal

Task = Literal["classes", "values"]
Kind = Literal["classes", "one_hot", "binary", "values"]
"""How outputs are held against targets: class scores against ids or against one-hot targets, each
output against a 0 or 1 of its own, or against a value of its own."""

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
    "lamb",
    "schedule_free_adamw",
)

COMPILED = "compiled"
"""The plan's name for what the model was compiled with."""
AS_COMPILED = {COMPILED: "as compiled"}
"""How it is called on the screen."""
OPTIMIZER_CHOICES = ("auto", COMPILED, *OPTIMIZERS)
"""Every optimizer. `auto` is the compiled one where the model brings one, else Adam."""
WHOLE_BATCH_LOSSES = ("dice", "tversky")
"""Losses of a whole batch, unless their option `axis` leaves the samples apart."""

# Left out: circle compares samples by their embeddings, and ctc aligns sequences of other lengths:
# neither holds targets against outputs. A model compiled with them trains by them.
_OF_SCORES = (
    "sparse_categorical_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_generalized_cross_entropy",
    "categorical_hinge",
    "kl_divergence",
)
_OF_YES_OR_NO = (
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "hinge",
    "squared_hinge",
    *WHOLE_BATCH_LOSSES,
)
LOSSES_OF: dict[Kind, tuple[str, ...]] = {
    "classes": (*_OF_SCORES, *_OF_YES_OR_NO),
    "one_hot": ("categorical_crossentropy", _OF_SCORES[0], *_OF_SCORES[2:]),
    "binary": _OF_YES_OR_NO,
    "values": (
        "mean_squared_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "mean_squared_logarithmic_error",
        "huber",
        "log_cosh",
        "cosine_similarity",
        "poisson",
    ),
}

BETWEEN_VALUES = ("cosine_similarity", "pearson_correlation", "concordance_correlation")
"""Metrics that compare the values of each sample with one another."""
_COUNTS = ("true_positives", "true_negatives", "false_positives", "false_negatives")
_HINGES = ("hinge", "squared_hinge")
_OF_CLASSES = (
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
    "mean_iou",
    "iou",
    "one_hot_mean_iou",
    "one_hot_iou",
    *_COUNTS,
    *_HINGES,
)
_OF_VALUES = (
    "mean_absolute_error",
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_percentage_error",
    "mean_squared_logarithmic_error",
    "log_cosh_error",
    "r2_score",
    "cosine_similarity",
    "pearson_correlation",
    "concordance_correlation",
    "poisson",
)
_BINARY = ("binary_accuracy", "binary_crossentropy", "binary_iou")
_COUNTING = (
    "auc",
    "f1_score",
    "fbeta_score",
    "precision",
    "recall",
    "precision_at_recall",
    "recall_at_precision",
    "sensitivity_at_specificity",
    "specificity_at_sensitivity",
)
METRICS_OF: dict[Kind, tuple[str, ...]] = {
    "classes": _OF_CLASSES,
    "one_hot": _OF_CLASSES,
    "binary": ("accuracy", *_BINARY, *_COUNTING, *_COUNTS, *_HINGES, *_OF_VALUES[:2]),
    "values": _OF_VALUES,
}

LOSSES = ("auto", COMPILED, *LOSSES_OF["classes"], *LOSSES_OF["values"])
"""Every loss.

`auto` is the compiled one where the model brings one, else the first of its kind: the categorical
cross-entropy for classes, the binary one for what is 0 or 1 each, the squared error for values.
"""

METRICS = ("auto", COMPILED, *METRICS_OF["classes"], *_BINARY, *METRICS_OF["values"])
"""Every metric.

`auto` is the compiled ones where the model brings some, else the first of its kind: the accuracy
for classes, the absolute error for values.
"""

AUTO_METRICS: dict[Task, str] = {
    "classes": METRICS_OF["classes"][0],
    "values": METRICS_OF["values"][0],
}
AUTO_CANDIDATES = (*AUTO_METRICS.values(), _BINARY[0])
"""What `auto` may stand for where only the data and the model tell."""


def auto_metric(kind: Kind, units: int) -> str:
    """The metric that `auto` stands for.

    Of several labels it is the share of right ones; what Keras calls `accuracy` compares the
    largest ones there.
    """
    return _BINARY[0] if kind == "binary" and units > 1 else METRICS_OF[kind][0]


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
_RESULTS = {
    "log_cosh_error": "logcosh",
    **{name: name.replace("iou", "io_u") for name in METRICS if name.endswith("iou")},
}


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


@lru_cache(1024)  # every check of a plan asks for the same names many times
def _squeezed(name: str) -> str:
    return name.replace("_", "").lower()


OF_ALL_OPTIMIZERS = (
    "weight_decay",
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "use_ema",
    "ema_momentum",
    "ema_overwrite_frequency",
    "loss_scale_factor",
    "gradient_accumulation_steps",
)

_OPTIMIZERS = {
    "sgd": ("momentum", "nesterov"),
    "rmsprop": ("rho", "momentum", "epsilon", "centered"),
    "adam": ("beta_1", "beta_2", "epsilon", "amsgrad"),
    "adamw": ("beta_1", "beta_2", "epsilon", "amsgrad"),
    "adadelta": ("rho", "epsilon"),
    "adagrad": ("initial_accumulator_value", "epsilon"),
    "adamax": ("beta_1", "beta_2", "epsilon"),
    "adafactor": ("beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold", "relative_step"),
    "nadam": ("beta_1", "beta_2", "epsilon"),
    "ftrl": (
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    ),
    "lion": ("beta_1", "beta_2"),
    "muon": (
        "adam_beta_1",
        "adam_beta_2",
        "adam_weight_decay",
        "epsilon",
        "exclude_layers",
        "exclude_embeddings",
        "muon_a",
        "muon_b",
        "muon_c",
        "adam_lr_ratio",
        "momentum",
        "ns_steps",
        "nesterov",
        "rms_rate",
    ),
    "lamb": ("beta_1", "beta_2", "epsilon"),
    "schedule_free_adamw": ("beta_1", "beta_2", "epsilon", "warmup_steps"),
}
_SMOOTHED = ("from_logits", "label_smoothing", "axis")
_LOSSES = {
    "sparse_categorical_crossentropy": ("from_logits", "ignore_class", "axis"),
    "categorical_crossentropy": _SMOOTHED,
    "categorical_focal_crossentropy": ("alpha", "gamma", *_SMOOTHED),
    "categorical_generalized_cross_entropy": ("q",),
    "binary_crossentropy": _SMOOTHED,
    "binary_focal_crossentropy": ("apply_class_balancing", "alpha", "gamma", *_SMOOTHED),
    "huber": ("delta",),
    "dice": ("axis",),
    "tversky": ("alpha", "beta", "axis"),
    "cosine_similarity": ("axis",),
}
_COUNTED = ("thresholds", "top_k", "class_id")
_METRICS = {
    "sparse_top_k_categorical_accuracy": ("k", "from_sorted_ids"),
    "sparse_categorical_crossentropy": ("from_logits", "ignore_class", "axis"),
    "top_k_categorical_accuracy": ("k",),
    "categorical_crossentropy": _SMOOTHED,
    "binary_accuracy": ("threshold",),
    "binary_crossentropy": ("from_logits", "label_smoothing"),
    "auc": (
        "num_thresholds",
        "curve",
        "summation_method",
        "thresholds",
        "multi_label",
        "num_labels",
        "label_weights",
    ),
    "f1_score": ("average", "threshold"),
    "fbeta_score": ("average", "beta", "threshold"),
    "precision": _COUNTED,
    "recall": _COUNTED,
    "precision_at_recall": ("recall", "num_thresholds", "class_id"),
    "recall_at_precision": ("precision", "num_thresholds", "class_id"),
    "sensitivity_at_specificity": ("specificity", "num_thresholds", "class_id"),
    "specificity_at_sensitivity": ("sensitivity", "num_thresholds", "class_id"),
    "r2_score": ("class_aggregation", "num_regressors"),
    "mean_iou": ("num_classes", "ignore_class"),
    "iou": ("num_classes", "target_class_ids", "ignore_class"),
    "one_hot_mean_iou": ("num_classes", "ignore_class"),
    "one_hot_iou": ("num_classes", "target_class_ids", "ignore_class"),
    "binary_iou": ("target_class_ids", "threshold"),
    "cosine_similarity": ("axis",),
    "pearson_correlation": ("axis",),
    "concordance_correlation": ("axis",),
    **dict.fromkeys(_COUNTS, ("thresholds",)),
}


def optimizer_options(name: str) -> tuple[str, ...]:
    """An optimizer's options besides its learning rate, specific ones first.

    Those of Adam for `auto`; () if it is unknown.
    """
    known = keras_name(optimizer_named(name), OPTIMIZERS)
    return (*_OPTIMIZERS[known], *OF_ALL_OPTIMIZERS) if known else ()


def optimizer_named(name: str) -> str:
    """The optimizer that `name` stands for where the model brings none: Adam for `auto`."""
    return "adam" if name == "auto" else name


def loss_options(name: str) -> tuple[str, ...]:
    """The options of a loss that a plan may give; () for `auto` and for an unknown one."""
    return _LOSSES.get(keras_name(name, LOSSES) or "", ())


def metric_options(name: str) -> tuple[str, ...]:
    """The options of a metric that a plan may give; () for `auto` and for an unknown one."""
    return _METRICS.get(keras_name(name, METRICS) or "", ())


_OF_ALL_CLASSES = {"multi_label", "num_labels", "label_weights"}
"""Options of an AUC that speak of every class."""


def is_of_class_1(metric: str, given: Collection[str]) -> bool:
    """Whether a metric with these options measures class 1 alone if there are two classes.

    Precision, recall and similar metrics do unless they are given a class, and so does the AUC.
    Averaged over both classes, each would equal the accuracy: every sample that one class gains,
    the other loses.
    """
    if keras_name(metric, METRICS) in _COUNTS:
        return True
    if keras_name(metric, METRICS) == "auc":
        return not _OF_ALL_CLASSES.intersection(given)
    return takes_class(metric, given)


def takes_class(metric: str, given: Collection[str]) -> bool:
    """Whether the metric has the option `class_id` and `given` does not set it."""
    return "class_id" in metric_options(metric) and "class_id" not in given


def metric_help(name: str) -> str:
    """What one must know of a metric of classes to read its value; empty if the name says it."""
    if is_of_class_1(name, ()):
        other = "; class_id picks one" if takes_class(name, ()) else ""
        return f"class 1 of two classes; all together where there are more{other}"
    return "the mean over all classes" if "average" in metric_options(name) else ""


VALIDATION = "val_"
# Parts of the names of Keras' metrics for which higher is better; for all others, lower is.
_MORE = (
    "accuracy",
    "auc",
    "precision",
    "recall",
    "f1",
    "fbeta",
    "score",
    "iou",
    "io_u",
    "correlation",
    "similarity",
    "r2",
    "true_",
    "at_",
)


def more_is_better(monitor: str) -> bool:
    """Whether a higher value of a metric (`val_loss`, `accuracy`) is better."""
    name = _in_full(monitor.removeprefix(VALIDATION))
    return "loss" not in name and any(part in name for part in _MORE)


def _in_full(name: str) -> str:
    """The name in small letters, with short names such as `acc` and `mse` in full."""
    return re.sub("[a-z0-9]+", lambda word: _SHORT.get(word[0], word[0]), name.lower())


# Keras' metrics for which lower is better, besides losses and errors; other names contain these.
_LESS = ("crossentropy", "kl_divergence", "hinge", "logcosh", "log_cosh", "poisson")
# Words in names of what the discriminator of a generative adversarial network loses: its least is
# where the generator is worst.
_DISCRIMINATOR = frozenset(("d", "dis", "disc", "discriminator", "critic", "dloss", "real", "fake"))


def can_judge(name: str) -> bool:
    """Whether a metric can choose the best weights by itself: its name says which way is better."""
    words = re.findall("[a-z0-9]+", name.lower())
    if any(word in _DISCRIMINATOR or word.startswith(("disc", "critic")) for word in words):
        return False
    full = _in_full(name)
    parts = "_".join(["", *re.findall("[a-z0-9]+", full), ""])
    less = "loss" in full or "error" in full or any(f"_{each}_" in parts for each in _LESS)
    return less != more_is_better(name)
