"""What a loss or a metric of a script is shown: targets and outputs as expressions.

They match `trainer.keras_objects.forms`: whoever changes one must change the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_studio.export.facts import ScriptFacts


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


def fitting(facts: ScriptFacts, name: str, known: Mapping[str, Fitting]) -> Fitting:
    """Return how a metric is fed, which for each kind of learning is another."""
    kind, given = facts.met.kind, known[name]
    if name == "accuracy" and kind != "classes":
        one = kind == "binary" and facts.met.units == 1
        given = Fitting("BinaryAccuracy" if one else "CategoricalAccuracy", one_hot=True)
    if kind == "binary":
        return replace(given, one_hot=True, probabilities=not given.takes_logits)
    return given


def labels(facts: ScriptFacts, given: Fitting) -> str:
    """Return the targets as the loss or the metric takes them."""
    kind, target = facts.met.kind, facts.source.target
    if kind == "classes":
        ids = _fitted(facts, facts.met.rank - 1)
        ids = f"tf.cast({ids}, tf.int32)" if target.measured else ids
        return f"keras.ops.one_hot({ids}, {facts.outputs})" if given.one_hot else ids
    if kind == "one_hot" and not given.one_hot:
        return "tf.argmax(y, axis=-1)"
    shown = _fitted(facts, facts.met.rank)
    return shown if target.measured else f"tf.cast({shown}, tf.float32)"


def _fitted(facts: ScriptFacts, axes: int) -> str:
    missing = axes - len(facts.source.target.shape)
    return {-1: "y[..., 0]", 0: "y", 1: "y[..., None]"}[missing]


def predictions(facts: ScriptFacts, given: Fitting) -> str:
    """Return the outputs as the loss or the metric takes them."""
    shown = "outputs" if facts.met.shape else "outputs[..., None]"
    if not given.probabilities or facts.met.kind == "values" or facts.logits == "False":
        return shown
    squash = "sigmoid" if facts.met.kind == "binary" else "softmax"
    made = f"keras.ops.{squash}({shown})"
    return made if facts.logits == "True" else f"{made} if logits else {shown}"


def averaged(facts: ScriptFacts) -> str:
    """Return the axes over which each sample's losses are averaged; empty where it has one."""
    return str(list(range(1, facts.met.rank))) if facts.met.rank > 1 else ""


def has_two_classes(facts: ScriptFacts) -> str:
    """Return whether there are two classes, as an expression; empty where there are not."""
    if facts.met.kind not in ("classes", "one_hot"):
        return ""
    if facts.outputs == "classes":
        return "classes == 2"
    return "True" if facts.outputs == "2" else ""


def prepared(facts: ScriptFacts, given: Sequence[Fitting]) -> list[str]:
    """Return the lines that convert targets and outputs for the metrics; none if they need none."""
    shown = Fitting("")
    lines = []
    if any(each.one_hot for each in given):
        lines.append(f"labels = {labels(facts, replace(shown, one_hot=True))}")
    if not all(each.one_hot for each in given) and labels(facts, shown) != "y":
        lines.append(f"y = {labels(facts, shown)}")
    if any(each.probabilities for each in given):
        lines.append(f"probabilities = {predictions(facts, replace(shown, probabilities=True))}")
    if not facts.met.shape:
        lines.append("outputs = outputs[..., None]")
    if facts.met.rank > 1:
        lines += _laid_out(facts, given)
    return lines


def _laid_out(facts: ScriptFacts, given: Sequence[Fitting]) -> list[str]:
    units, ids = facts.met.units, facts.met.kind in ("classes", "one_hot")
    ones = ", ".join(["1"] * (facts.met.rank - 1))
    lines = [
        "# One long row of samples, of which each has the weight of its own.",
        "weight = tf.ones(len(y)) if weight is None else weight",
        f"weight = tf.reshape(weight, (-1, {ones}))",
        "weight = tf.reshape(tf.broadcast_to(weight, tf.shape(outputs)[:-1]), (-1,))",
    ]
    if any(each.one_hot for each in given):
        lines.append(f"labels = tf.reshape(labels, (-1, {units}))")
    if not all(each.one_hot for each in given):
        lines.append("y = tf.reshape(y, (-1,))" if ids else f"y = tf.reshape(y, (-1, {units}))")
    if any(each.probabilities for each in given):
        lines.append(f"probabilities = tf.reshape(probabilities, (-1, {units}))")
    if not all(each.probabilities for each in given):
        lines.append(f"outputs = tf.reshape(outputs, (-1, {units}))")
    return lines


def names(_facts: ScriptFacts, given: Fitting) -> tuple[str, str]:
    """Return the names of what a metric is shown, after the lines of `prepared`."""
    return (
        "labels" if given.one_hot else "y",
        "probabilities" if given.probabilities else "outputs",
    )
