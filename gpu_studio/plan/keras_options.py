"""The options of Keras' optimizers, losses and metrics, by name, for the window to offer.

Keras checks their values; a test compares these names with the signatures of its constructors.
"""

from __future__ import annotations

from collections.abc import Collection

from gpu_studio.plan.keras_names import LOSSES, METRICS, OPTIMIZERS, keras_name

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
}
_COUNTED = ("thresholds", "top_k", "class_id")
_METRICS = {
    "sparse_top_k_categorical_accuracy": ("k", "from_sorted_ids"),
    "sparse_categorical_crossentropy": ("from_logits", "ignore_class", "axis"),
    "top_k_categorical_accuracy": ("k",),
    "categorical_crossentropy": _SMOOTHED,
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
}


def optimizer_options(name: str) -> tuple[str, ...]:
    """An optimizer's options besides its learning rate, specific ones first.

    () if it is unknown.
    """
    known = keras_name(name, OPTIMIZERS)
    return (*_OPTIMIZERS[known], *OF_ALL_OPTIMIZERS) if known else ()


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
    if keras_name(metric, METRICS) == "auc":
        return not _OF_ALL_CLASSES.intersection(given)
    return takes_class(metric, given)


def takes_class(metric: str, given: Collection[str]) -> bool:
    """Whether the metric has the option `class_id` and `given` does not set it."""
    return "class_id" in metric_options(metric) and "class_id" not in given


def metric_help(name: str) -> str:
    """What one must know of a metric of classes to read its value; empty if the name says it."""
    if is_of_class_1(name, ()):
        other = "" if keras_name(name, METRICS) == "auc" else "; class_id picks one"
        return f"class 1 of two classes; all together where there are more{other}"
    return "the mean over all classes" if "average" in metric_options(name) else ""
