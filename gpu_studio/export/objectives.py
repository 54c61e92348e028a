"""The parts of a script that make the loss and the metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.filling import fill
from gpu_studio.export.keras_classes import LOSS_CLASSES, METRIC_CLASSES, Fitting
from gpu_studio.export.layout import call, listing, options
from gpu_studio.export.literals import literal
from gpu_studio.plan import Named
from gpu_studio.plan.keras_names import AUTO_METRICS, LOSSES_OF, METRICS, keras_name, result_name
from gpu_studio.plan.keras_options import is_of_class_1, takes_class

_LOSS = """\
def make_loss($parameters):
    \"\"\"The loss, one number per sample: `reduction=None` leaves the mean to the step.$logits\"\"\"
    $make
"""

_LOGITS = """

    `from_logits` says that the model gives plain scores. A softmax inside of the loss
    is exact where one in the model would round to 0.
    """

_ADAPTED = """\

def adapted(y, outputs):
    return loss($labels, $predictions)

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
    names = LOSSES_OF[facts.source.task]
    name = names[0] if chosen.name == "auto" else str(keras_name(chosen.name, names))
    fitting = LOSS_CLASSES[name]
    given = _with_logits(facts, fitting, chosen.options)
    arguments = [*given, "reduction=None"]
    plain = not fitting.one_hot and not fitting.probabilities
    made = call(
        "return " if plain else "loss = ", f"keras.losses.{fitting.cls}", arguments, indent=4
    )
    adapted = fill(
        _ADAPTED,
        labels=_labels(facts, fitting),
        predictions=_predictions(facts, fitting),
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
    fittings = [METRIC_CLASSES[name] for name in names]
    made = [_metric(facts, name, each.options) for name, each in zip(names, chosen, strict=True)]
    return fill(
        _METRICS,
        parameters=facts.found_later,
        make=listing("metrics = ", made, indent=4),
        lazy=_lazy(facts, fittings, chosen),
        update=_update(facts, fittings, _one_column(facts, names, chosen)),
    )


def metric_name(facts: ScriptFacts, metric: Named) -> str:
    """Return the plan's full name for a metric."""
    return (
        AUTO_METRICS[facts.source.task]
        if metric.name == "auto"
        else str(keras_name(metric.name, METRICS))
    )


def _metric(facts: ScriptFacts, name: str, given: Mapping[str, Any]) -> str:
    fitting = METRIC_CLASSES[name]
    averaged = {"average": "macro"} if fitting.cls in ("F1Score", "FBetaScore") else {}
    arguments = _with_logits(facts, fitting, {**averaged, **given})
    if takes_class(name, given) and facts.source.classes in (None, 2):
        arguments.append(
            f"class_id={'1' if facts.source.classes else '1 if classes == 2 else None'}"
        )
    return call(
        "",
        f"keras.metrics.{fitting.cls}",
        [*arguments, f"name={literal(result_name(name))}"],
        indent=8,
    )


def _with_logits(facts: ScriptFacts, fitting: Fitting, given: Mapping[str, Any]) -> list[str]:
    if fitting.takes_logits and "from_logits" not in given:
        return [f"from_logits={facts.logits}", *options(given)]
    return options(given)


def _labels(facts: ScriptFacts, fitting: Fitting) -> str:
    return f"keras.ops.one_hot(y, {facts.outputs})" if fitting.one_hot else "y"


def _predictions(facts: ScriptFacts, fitting: Fitting) -> str:
    if not fitting.probabilities:
        return "outputs"
    return (
        "keras.ops.softmax(outputs) if logits else outputs"
        if facts.from_file
        else "keras.ops.softmax(outputs)"
    )


def _one_column(
    facts: ScriptFacts, names: Iterable[str], chosen: Iterable[Named]
) -> frozenset[int]:
    """Return the places of the metrics that are given the column of class 1 of two classes."""
    if facts.source.task != "classes" or facts.source.classes not in (None, 2):
        return frozenset()
    pairs = enumerate(zip(names, chosen, strict=True))
    return frozenset(
        place
        for place, (name, each) in pairs
        if is_of_class_1(name, each.options) and not takes_class(name, each.options)
    )


def _update(facts: ScriptFacts, fittings: list[Fitting], one_column: Collection[int]) -> str:
    if not any(each.one_hot or each.probabilities for each in fittings):
        return _EACH
    lines = []
    if any(each.one_hot for each in fittings):
        lines.append(f"labels = keras.ops.one_hot(y, {facts.outputs})")
    if any(each.probabilities for each in fittings):
        lines.append(f"probabilities = {_predictions(facts, Fitting('', probabilities=True))}")
    if one_column:
        lines += _of_class_1(facts)
    for index, each in enumerate(fittings):
        seen = (
            f"{'labels' if each.one_hot else 'y'}, "
            f"{'probabilities' if each.probabilities else 'outputs'}"
        )
        shown = "*of_1" if index in one_column else seen
        lines.append(f"metrics[{index}].update_state({shown}, sample_weight=weight)")
    return "\n".join(lines)


def _of_class_1(facts: ScriptFacts) -> Iterator[str]:
    yield "# The AUC of two classes is that of class 1."
    if facts.source.classes is None:
        yield "column = slice(1, 2) if classes == 2 else slice(None)"
    column = "column" if facts.source.classes is None else "1:2"
    yield f"of_1 = labels[:, {column}], probabilities[:, {column}]"


def _lazy(facts: ScriptFacts, fittings: Iterable[Fitting], chosen: Iterable[Named]) -> str:
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
