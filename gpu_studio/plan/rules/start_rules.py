"""What a plan asks for that only its data and its model can refuse.

The Plan page asks before a run, by what was seen of them, and the trainer at its start. Each says
it in its own words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gpu_studio.plan.keras_objects import VALIDATION
from gpu_studio.plan.values import CheckpointSettings, Training


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A monitor that nothing measures, by its field; `split` says that the split is missing."""

    field: str
    monitor: str
    split: bool

    @property
    def name(self) -> str:
        """What is to be measured, without its split."""
        return self.monitor.removeprefix(VALIDATION)


def unmeasured(
    training: Training, measures: Collection[str], *, validated: bool
) -> Iterator[Unmeasured]:
    """The monitors of what is not measured, or on a split that is not there.

    `measures` are what the model's steps measure, without splits; empty if that is not known yet.
    The checkpoints' default does without validation samples.
    """
    rule, asked = training.early_stopping, dict[str, str]()
    if rule is not None:
        asked["training.early_stopping.monitor"] = rule.monitor
    if training.checkpoint.monitor != CheckpointSettings().monitor:
        asked["training.checkpoint.monitor"] = training.checkpoint.monitor
    for field, monitor in asked.items():
        split = monitor.startswith(VALIDATION) and not validated
        if split or (measures and monitor.removeprefix(VALIDATION) not in measures):
            yield Unmeasured(field, monitor, split)


def beside_own_steps(training: Training) -> Iterator[str]:
    """The fields of what only Keras' default step does: steps of a model's own leave no room."""
    if training.class_weight:
        yield "training.class_weight"
    if training.phases:
        yield "training.phases"


def never_ends(*, endless: bool, steps: int) -> bool:
    """Whether a pass would have no end: the data have none, and no number of batches is given."""
    return endless and not steps
