"""What a run says of its targets before it trains: what may not be what its author means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_studio.contract import events
from gpu_studio.plan import Plan, Target, listed
from gpu_studio.plan.class_ids import taken_for_ids
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.data.trees import Path
from gpu_studio.trainer.keras_objects.objective import Learner, idle_class_weights


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
    if idle := idle_class_weights(plan.training, dataset):
        said = (
            f"training.class_weight weighs class {listed(idle)}, of which {dataset.name} has no "
            "sample to train on: it changes nothing."
        )
        advice = "Give the numbers that the targets have, which count from 0."
        yield events.Warned(message=said, suggestion=advice)
    for learner in learners if plan.model.name is None else ():
        if learner.form.kind == "classes":
            yield from _taken_for_ids(plan, dataset, *dataset.targets[learner.target])


def _taken_for_ids(
    plan: Plan, dataset: Dataset, path: Path, target: Target
) -> Iterator[events.Warned]:
    found = taken_for_ids(plan.data, dataset.name, path, target.ids or 0)
    if target.sparse and found is not None:
        yield events.Warned(message=f"{found.text} {found.why}", suggestion=found.advice)
