"""Refuse what a script cannot do, before one is written."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpu_studio.export.keras_objects import METRIC_CLASSES
from gpu_studio.export.learning import BY_FIT, ExportError
from gpu_studio.export.strategies import WRITTEN, written_as
from gpu_studio.plan import (
    Plan,
    PlanError,
    Problem,
    reference,
    shown,
    strategy_of,
    validate,
)
from gpu_studio.plan.keras_objects import (
    COMPILED,
    LOSSES,
    METRICS,
    WHOLE_BATCH_LOSSES,
    keras_name,
)
from gpu_studio.plan.strategies.parameter_server import own_steps_refused

_FIXED = ("name", "dtype", "reduction", "learning_rate")


def check(plan: Plan) -> None:
    """Raises ExportError, in words, for a plan that is invalid or that no script can carry out."""
    _refuse_invalid(plan)
    for reason in [
        *_unwritten(plan),
        *_options(plan),
        *_callbacks(plan),
        *written_as(plan).refusals(plan),
    ]:
        raise ExportError(reason)


def _refuse_invalid(plan: Plan) -> None:
    if plan.distribution.strategy not in WRITTEN:
        raise ExportError(
            f"The strategy {shown(plan.distribution.strategy)} cannot be written as a script of "
            f"its own. Choose one of {', '.join(WRITTEN)}."
        )
    # Not against this machine: a plan may be exported because it is meant for another one.
    if problems := writable(plan, validate(plan)):
        raise ExportError(str(PlanError(problems, f"The plan {shown(plan.name)}")))


def writable(plan: Plan, problems: Iterable[Problem]) -> list[Problem]:
    """The problems but this: a strategy of several processes, which runs later than scripts do."""
    clusters = strategy_of(plan).clusters and plan.distribution.strategy in WRITTEN
    return [each for each in problems if not (clusters and each.field == "distribution.strategy")]


def check_fitted(plan: Plan, own_steps: Sequence[str] = ()) -> None:
    """Raises ExportError for a plan that no script carries out by Keras' `fit`.

    `own_steps` are those that its model brings.
    """
    _refuse_invalid(plan)
    for reason in [
        *_served(plan, own_steps),
        *_names("training.options", plan.training.options),
        *written_as(plan).refusals(plan),
    ]:
        raise ExportError(reason)


def _served(plan: Plan, own_steps: Sequence[str]) -> Iterator[str]:
    if strategy_of(plan).serves and own_steps:
        yield " ".join(own_steps_refused(own_steps[0]))


def _unwritten(plan: Plan) -> Iterator[str]:
    """Refuse what a run can do, and the loop of a script cannot."""
    training = plan.training
    if training.optimizer == COMPILED:
        yield f'training.optimizer is "{COMPILED}", and the loop of a script takes none. {BY_FIT}'
    for field, name in (
        ("training.loss", training.loss.name),
        *((f"training.metrics[{at}]", each.name) for at, each in enumerate(training.metrics)),
    ):
        if name == COMPILED or reference(name):
            yield (
                f"{field} is {shown(name)}, and the loop of a script takes Keras' own by name: "
                f"name one. {BY_FIT}"
            )
    for index, metric in enumerate(training.metrics):
        named = keras_name(metric.name, METRICS)
        if named not in (None, "auto", COMPILED, *METRIC_CLASSES):
            yield (
                f"training.metrics[{index}] is {shown(metric.name)}, which no script writes. "
                "Leave it out, or train by a run."
            )
    if training.class_weight:
        yield (f"The loop of a script weighs no classes. Leave training.class_weight out. {BY_FIT}")
    if keras_name(training.loss.name, LOSSES) in WHOLE_BATCH_LOSSES:
        yield f"The loss {training.loss.name} is one of a whole batch, which no script writes."


def _options(plan: Plan) -> Iterator[str]:
    training = plan.training
    for name in training.outputs:
        yield (
            f"training.outputs.{name} says what one of several outputs learns by, and the loop "
            f"of a script trains one. {BY_FIT}"
        )
    yield from _names("training.options", training.options)
    yield from _names("training.loss", training.loss.options)
    for index, metric in enumerate(training.metrics):
        field = f"training.metrics[{index}]"
        yield from _names(field, metric.options)
        fitting = METRIC_CLASSES.get(keras_name(metric.name, METRICS) or "")
        if fitting and fitting.probabilities and "from_logits" in metric.options:
            yield (
                f"{field}.from_logits is no option here: the metric is given "
                "probabilities. Leave it out."
            )


def _callbacks(plan: Plan) -> Iterator[str]:
    if plan.training.callbacks:
        yield (
            "The loop of a script calls no callbacks, and without them it would train otherwise "
            f"than this plan. Leave training.callbacks out. {BY_FIT}"
        )


def _names(field: str, given: Mapping[str, Any]) -> Iterator[str]:
    for key, value in given.items():
        if not _is_name(key) or key in _FIXED:
            yield f"{field} has {shown(key)}, which is not an option of Keras. Leave it out."
        elif isinstance(value, Mapping):
            yield f"{field}.{key} is a table, and Keras has no option that takes one. Leave it out."


def _is_name(key: str) -> bool:
    """Return whether Python takes `key` as that very name.

    It normalises some letters to others (PEP 3131, NFKC).
    """
    reserved = keyword.iskeyword(key) or key == "__debug__"
    return key.isidentifier() and not reserved and unicodedata.normalize("NFKC", key) == key
