"""The parts of a script that make Keras objects: the loss, the metrics and the optimizer.

Keras' classes stand here by their names in a plan, with how each takes targets and outputs. The
trainer finds the classes by inspecting Keras, which is not available here; the tests compare
the two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from gpu_studio.export import forms
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.forms import Fitting
from gpu_studio.export.script_text import call, fill, listing, literal, options
from gpu_studio.plan import Named
from gpu_studio.plan.keras_objects import (
    LOSSES_OF,
    METRICS,
    auto_metric,
    is_of_class_1,
    keras_name,
    result_name,
    takes_class,
)

_LOSS = '''\
def make_loss($parameters):
    """The loss, one number per sample: `reduction=None` leaves the mean to the step.$logits"""
    $make
'''

_LOGITS = """

    `from_logits` says that the model gives plain scores. A softmax inside of the loss
    is exact where one in the model would round to 0.
    """

_ADAPTED = """\

def adapted(y, outputs):
    return loss($labels, $predictions)

return adapted"""

_ADAPTED_MEANS = """\

def adapted(y, outputs):
    losses = loss($labels, $predictions)
    # Of each sample the mean over all of its numbers.
    return tf.reduce_mean(losses, axis=$averaged)

return adapted"""

_METRICS = """\
def make_metrics($parameters):
    \"\"\"The metrics, and a function that counts in some samples.\"\"\"
    $make
    $lazy

    def update(y, outputs, weight=None):
        $update

    return metrics, update
"""

_LAZY = """\
# Some make their variables when they see their first sample, which must not happen while
# TensorFlow compiles a step: they see one now, and forget it.
for metric in {some}:
    metric.update_state({one}, {one})
    metric.reset_state()"""

_EACH = """\
for metric in metrics:
    metric.update_state(y, outputs, sample_weight=weight)"""


def loss(facts: ScriptFacts) -> str:
    """The function `make_loss`."""
    chosen = facts.plan.training.loss
    names = LOSSES_OF[facts.met.kind]
    name = names[0] if chosen.name == "auto" else str(keras_name(chosen.name, names))
    fitting = LOSS_CLASSES[name]
    given = _with_logits(facts, fitting, chosen.options)
    # What is left out does not count in the mean, which only Keras' own one knows.
    whole = "ignore_class" in chosen.options
    arguments = given if whole else [*given, "reduction=None"]
    labels, predictions = forms.labels(facts, fitting), forms.predictions(facts, fitting)
    averaged = "" if whole else forms.averaged(facts)
    plain = (labels, predictions, averaged) == ("y", "outputs", "")
    made = call(
        "return " if plain else "loss = ", f"keras.losses.{fitting.cls}", arguments, indent=4
    )
    adapted = fill(
        _ADAPTED_MEANS if averaged else _ADAPTED,
        labels=labels,
        predictions=predictions,
        averaged=averaged,
    )
    return fill(
        _LOSS,
        parameters=facts.found_later,
        logits=_LOGITS if "from_logits=True" in given else "",
        make=made if plain else f"{made}\n{adapted}",
    )


def metrics(facts: ScriptFacts) -> str:
    """Return the function `make_metrics`; empty for a plan without metrics."""
    chosen = facts.plan.training.metrics
    if not chosen:
        return ""
    names = [metric_name(facts, each) for each in chosen]
    fittings = [forms.fitting(facts, name, METRIC_CLASSES) for name in names]
    made = [
        metric_text(facts, name, each.options) for name, each in zip(names, chosen, strict=True)
    ]
    return fill(
        _METRICS,
        parameters=facts.found_later,
        make=listing("metrics = ", made, indent=4),
        lazy=_lazy_metrics(facts, fittings, chosen),
        update=_metrics_update(facts, fittings, one_column(facts, names, chosen)),
    )


def metric_name(facts: ScriptFacts, metric: Named) -> str:
    """Return the plan's full name for a metric."""
    return (
        auto_metric(facts.met.kind, facts.met.units)
        if metric.name == "auto"
        else str(keras_name(metric.name, METRICS))
    )


def metric_text(facts: ScriptFacts, name: str, given: Mapping[str, Any]) -> str:
    """Return the expression that makes the metric of this full name."""
    fitting = forms.fitting(facts, name, METRIC_CLASSES)
    averaged: dict[str, Any] = {}
    if fitting.cls in ("F1Score", "FBetaScore"):
        averaged = {"average": "macro"} | ({"threshold": 0.5} if facts.met.kind == "binary" else {})
    arguments = [*_counted(facts, fitting, given)]
    arguments += _with_logits(facts, fitting, {**averaged, **given})
    if takes_class(name, given) and (two := forms.has_two_classes(facts)):
        arguments.append(f"class_id={'1' if two == 'True' else f'1 if {two} else None'}")
    return call(
        "",
        f"keras.metrics.{fitting.cls}",
        [*arguments, f"name={literal(result_name(name))}"],
        indent=8,
    )


def _counted(facts: ScriptFacts, fitting: Fitting, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a metric of the areas of classes must know: how many, and what it is shown."""
    if not fitting.cls.endswith("IoU") or fitting.cls == "BinaryIoU":
        return
    if "num_classes" not in given:
        yield f"num_classes={facts.outputs}"
    if not fitting.one_hot:
        yield "sparse_y_true=True"
    yield "sparse_y_pred=False"


def _with_logits(facts: ScriptFacts, fitting: Fitting, given: Mapping[str, Any]) -> list[str]:
    if fitting.takes_logits and "from_logits" not in given:
        return [f"from_logits={facts.logits}", *options(given)]
    return options(given)


def one_column(facts: ScriptFacts, names: Iterable[str], chosen: Iterable[Named]) -> frozenset[int]:
    """Return the places of the metrics that are given the column of class 1 of two classes."""
    if not forms.has_two_classes(facts):
        return frozenset()
    pairs = enumerate(zip(names, chosen, strict=True))
    return frozenset(
        place
        for place, (name, each) in pairs
        if is_of_class_1(name, each.options) and not takes_class(name, each.options)
    )


def _metrics_update(
    facts: ScriptFacts, fittings: list[Fitting], one_column: Collection[int]
) -> str:
    lines = forms.prepared(facts, fittings)
    if not lines:
        return _EACH
    if one_column:
        lines += _of_class_1(facts)
    for index, each in enumerate(fittings):
        shown = "*of_1" if index in one_column else ", ".join(forms.names(facts, each))
        lines.append(f"metrics[{index}].update_state({shown}, sample_weight=weight)")
    return "\n".join(lines)


def _of_class_1(facts: ScriptFacts) -> Iterator[str]:
    two = forms.has_two_classes(facts)
    yield "# The AUC of two classes is that of class 1."
    if two != "True":
        yield f"column = slice(1, 2) if {two} else slice(None)"
    column = "1:2" if two == "True" else "column"
    yield f"of_1 = labels[:, {column}], probabilities[:, {column}]"


def _lazy_metrics(facts: ScriptFacts, fittings: Iterable[Fitting], chosen: Iterable[Named]) -> str:
    pairs = list(zip(fittings, chosen, strict=True))
    late = [
        index
        for index, (each, named) in enumerate(pairs)
        if each.lazy or (each.cls == "AUC" and named.options.get("multi_label"))
    ]
    if not late:
        return ""
    one = f"np.zeros((1, {facts.outputs}), np.float32)"
    some = ", ".join(f"metrics[{index}]" for index in late)
    return _LAZY.format(some=f"({some},)" if len(late) == 1 else f"({some})", one=one)


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
    "cosine_similarity": Fitting("CosineSimilarity"),
    "poisson": Fitting("Poisson"),
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
    "mean_iou": Fitting("MeanIoU"),
    "iou": Fitting("IoU"),
    "one_hot_mean_iou": Fitting("OneHotMeanIoU", one_hot=True),
    "one_hot_iou": Fitting("OneHotIoU", one_hot=True),
    "binary_iou": _probable("BinaryIoU"),
    "true_positives": _probable("TruePositives"),
    "true_negatives": _probable("TrueNegatives"),
    "false_positives": _probable("FalsePositives"),
    "false_negatives": _probable("FalseNegatives"),
    "hinge": Fitting("Hinge", one_hot=True),
    "squared_hinge": Fitting("SquaredHinge", one_hot=True),
    "binary_accuracy": _probable("BinaryAccuracy"),
    "binary_crossentropy": Fitting("BinaryCrossentropy", one_hot=True, takes_logits=True),
    "mean_absolute_error": Fitting("MeanAbsoluteError"),
    "mean_squared_error": Fitting("MeanSquaredError"),
    "root_mean_squared_error": Fitting("RootMeanSquaredError"),
    "mean_absolute_percentage_error": Fitting("MeanAbsolutePercentageError"),
    "mean_squared_logarithmic_error": Fitting("MeanSquaredLogarithmicError"),
    "log_cosh_error": Fitting("LogCoshError"),
    "r2_score": Fitting("R2Score", lazy=True),
    "cosine_similarity": Fitting("CosineSimilarity"),
    "pearson_correlation": Fitting("PearsonCorrelation"),
    "concordance_correlation": Fitting("ConcordanceCorrelation"),
    "poisson": Fitting("Poisson"),
}
