"""Keras' classes by their names in a plan, and how each takes targets and outputs.

The trainer finds the classes by inspecting Keras, which is not available here; the tests compare
the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OPTIMIZER_CLASSES: Mapping[str, str] = {
    "sgd": "SGD",
    "rmsprop": "RMSprop",
    "adam": "Adam",
    "adamw": "AdamW",
    "adadelta": "Adadelta",
    "adagrad": "Adagrad",
    "adamax": "Adamax",
    "adafactor": "Adafactor",
    "nadam": "Nadam",
    "ftrl": "Ftrl",
    "lion": "Lion",
    "muon": "Muon",
}


@dataclass(frozen=True, slots=True)
class Fitting:
    """A loss or metric: its class in Keras, and how it is fed.

    It wants `one_hot` labels instead of class ids, `probabilities` instead of scores; it takes
    `from_logits`; a `lazy` metric must create its variables when it first sees an output.
    """

    cls: str
    one_hot: bool = False
    probabilities: bool = False
    takes_logits: bool = False
    lazy: bool = False


def _probable(cls: str, *, lazy: bool = False) -> Fitting:
    return Fitting(cls, one_hot=True, probabilities=True, lazy=lazy)


LOSS_CLASSES: Mapping[str, Fitting] = {
    "sparse_categorical_crossentropy": Fitting("SparseCategoricalCrossentropy", takes_logits=True),
    "categorical_crossentropy": Fitting("CategoricalCrossentropy", one_hot=True, takes_logits=True),
    "categorical_focal_crossentropy": Fitting(
        "CategoricalFocalCrossentropy", one_hot=True, takes_logits=True
    ),
    "categorical_generalized_cross_entropy": Fitting(
        "CategoricalGeneralizedCrossEntropy", probabilities=True
    ),
    "categorical_hinge": Fitting("CategoricalHinge", one_hot=True),
    "kl_divergence": _probable("KLDivergence"),
    "binary_crossentropy": Fitting("BinaryCrossentropy", one_hot=True, takes_logits=True),
    "binary_focal_crossentropy": Fitting(
        "BinaryFocalCrossentropy", one_hot=True, takes_logits=True
    ),
    "hinge": Fitting("Hinge", one_hot=True),
    "squared_hinge": Fitting("SquaredHinge", one_hot=True),
    "mean_squared_error": Fitting("MeanSquaredError"),
    "mean_absolute_error": Fitting("MeanAbsoluteError"),
    "mean_absolute_percentage_error": Fitting("MeanAbsolutePercentageError"),
    "mean_squared_logarithmic_error": Fitting("MeanSquaredLogarithmicError"),
    "huber": Fitting("Huber"),
    "log_cosh": Fitting("LogCosh"),
}

METRIC_CLASSES: Mapping[str, Fitting] = {
    "accuracy": Fitting("SparseCategoricalAccuracy"),
    "sparse_categorical_accuracy": Fitting("SparseCategoricalAccuracy"),
    "sparse_top_k_categorical_accuracy": Fitting("SparseTopKCategoricalAccuracy"),
    "sparse_categorical_crossentropy": Fitting("SparseCategoricalCrossentropy", takes_logits=True),
    "categorical_accuracy": Fitting("CategoricalAccuracy", one_hot=True),
    "top_k_categorical_accuracy": Fitting("TopKCategoricalAccuracy", one_hot=True),
    "categorical_crossentropy": Fitting("CategoricalCrossentropy", one_hot=True, takes_logits=True),
    "categorical_hinge": Fitting("CategoricalHinge", one_hot=True),
    "auc": _probable("AUC"),
    "f1_score": _probable("F1Score", lazy=True),
    "fbeta_score": _probable("FBetaScore", lazy=True),
    "precision": _probable("Precision"),
    "recall": _probable("Recall"),
    "precision_at_recall": _probable("PrecisionAtRecall"),
    "recall_at_precision": _probable("RecallAtPrecision"),
    "sensitivity_at_specificity": _probable("SensitivityAtSpecificity"),
    "specificity_at_sensitivity": _probable("SpecificityAtSensitivity"),
    "kl_divergence": _probable("KLDivergence"),
    "mean_absolute_error": Fitting("MeanAbsoluteError"),
    "mean_squared_error": Fitting("MeanSquaredError"),
    "root_mean_squared_error": Fitting("RootMeanSquaredError"),
    "mean_absolute_percentage_error": Fitting("MeanAbsolutePercentageError"),
    "mean_squared_logarithmic_error": Fitting("MeanSquaredLogarithmicError"),
    "log_cosh_error": Fitting("LogCoshError"),
    "r2_score": Fitting("R2Score", lazy=True),
}
