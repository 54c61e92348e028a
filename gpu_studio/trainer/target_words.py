"""What a run says of its targets before it trains: what may not be what its author means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_studio.contract import events
from gpu_studio.plan import Plan, Target, Training, listed
from gpu_studio.plan.class_ids import taken_for_ids
from gpu_studio.plan.odd_targets import KerasLoss, Oddity, oddities
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.data.trees import Path, leaves
from gpu_studio.trainer.data.values import strata_of
from gpu_studio.trainer.errors import MissingTargetsError
from gpu_studio.trainer.keras_objects.objective import Head, Learner


def warnings_before(plan: Plan, dataset: Dataset) -> Iterator[events.Warned]:
    """Return what is odd about targets, of which a built-in model has an output for each class.

    So many outputs may be too many to build the model, and then nobody would say why.
    """
    if plan.model.name is not None:
        for path, target in dataset.targets:
            yield from _taken_for_ids(plan, dataset, path, target)


def warnings_of(
    plan: Plan, dataset: Dataset, learners: Sequence[Learner]
) -> Iterator[events.Warned]:
    """Return what is odd about targets: weights of no class, and values taken for class ids.

    Of built-in models `warnings_before` says the latter.
    """
    if idle := _idle_class_weights(plan.training, dataset):
        said = (
            f"training.class_weight weighs class {listed(idle)}, of which {dataset.name} has no "
            "sample to train on: it changes nothing."
        )
        advice = "Give the numbers that the targets have, which count from 0."
        yield events.Warned(message=said, suggestion=advice)
    for learner in learners if plan.model.name is None else ():
        if learner.form.kind == "classes":
            yield from _taken_for_ids(plan, dataset, *dataset.targets[learner.target])


def _idle_class_weights(training: Training, dataset: Dataset) -> list[str]:
    """Return the numbers of classes that the plan weighs, and that no sample is of.

    None for a stream, of which only the beginning is known.
    """
    given, split = training.class_weight, dataset.train
    if not given or split.stream is not None:
        return []
    (path, target), *_ = dataset.targets
    found = strata_of(dict(leaves(split.wanted(slice(None))))[path], target)
    there = set(np.unique(found).tolist())
    return [number for number in given if int(number) not in there]


def _taken_for_ids(
    plan: Plan, dataset: Dataset, path: Path, target: Target
) -> Iterator[events.Warned]:
    found = taken_for_ids(plan.data, dataset.name, path, target.ids or 0)
    if target.sparse and found is not None:
        yield events.Warned(message=f"{found.text} {found.why}", suggestion=found.advice)


def oddities_of(
    dataset: Dataset, learners: Sequence[Learner], heads: Sequence[Head]
) -> Iterator[Oddity]:
    """What is odd about outputs and the targets that they learn by losses of Keras'.

    Raises MissingTargetsError where some are no numbers, of which no loss of Keras' makes one.
    """
    for learner, head in zip(learners, heads, strict=True):
        if not head.learns:
            continue
        path, target = dataset.targets[learner.target]
        form, loss = learner.form, head.loss
        if _rescaled(learner) or (not loss.given and form.kind in ("classes", "one_hot")):
            target = replace(target, lowest=0.0, highest=0.0)  # the loss is given others
        called = f"{'/'.join(('y', *map(str, path)))} in {dataset.name}"
        known = _known(loss.keras_loss)
        if known and target.missing is not None:
            then = f"the loss {known.name} of it is not finite, either"
            raise MissingTargetsError(f"The targets {called}", target.missing, then)
        # What the outputs look like is tried for such targets only: see `_seen_ending`.
        if known and target.measured and not (form.ending or target.yes_or_no or target.one_hot):
            known = replace(known, from_logits=True)  # it may be either: nothing is said of that
        if known is not None:
            yield from oddities(target, called, known, form.units, form.ending)


def odd_warnings(
    dataset: Dataset, learners: Sequence[Learner], heads: Sequence[Head]
) -> Iterator[events.Warned]:
    """Return what a run says of that."""
    for odd in oddities_of(dataset, learners, heads):
        yield events.Warned(message=f"{odd.text} {odd.why}", suggestion=odd.advice)


def _rescaled(learner: Learner) -> bool:
    """Whether the last layer brings the output to where the targets are."""
    last = learner.end.tensor._keras_history.operation  # noqa: SLF001
    return type(last).__name__ in ("Rescaling", "Normalization", "Lambda")


def _known(loss: Any) -> KerasLoss | None:
    """Return a loss as the rules know it; None for one of the user's own."""
    function, given = getattr(loss, "fn", None), getattr(loss, "_fn_kwargs", {})
    if function is None or not getattr(function, "__module__", "").startswith("keras."):
        return None
    ignored = given.get("ignore_class")
    return KerasLoss(function.__name__, bool(given.get("from_logits")), ignored)
