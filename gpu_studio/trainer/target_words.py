"""What a run says of its targets before it trains: what may not be what its author means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_studio.contract import events
from gpu_studio.plan import Plan, listed
from gpu_studio.plan.class_ids import taken_for_ids
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.keras_objects.objective import Learner, idle_class_weights


def warnings_of(
    plan: Plan, dataset: Dataset, learners: Sequence[Learner]
) -> Iterator[events.Warned]:
    """Return what is odd about targets: weights of no class, and values taken for class ids."""
    if idle := idle_class_weights(plan.training, dataset):
        said = (
            f"training.class_weight weighs class {listed(idle)}, of which {dataset.name} has no "
            "sample to train on: it changes nothing."
        )
        advice = "Give the numbers that the targets have, which count from 0."
        yield events.Warned(message=said, suggestion=advice)
    for learner in learners:
        path, target = dataset.targets[learner.target]
        if learner.form.kind == "classes" and target.sparse:
            found = taken_for_ids(plan.data, dataset.name, path, target.ids or 0)
            if found is not None:
                message = f"{found.text} {found.why}"
                yield events.Warned(message=message, suggestion=found.advice)
