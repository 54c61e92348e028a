"""What a plan asks for that only its data and its model can refuse.

The Plan page asks before a run, by what was seen of them, and the trainer at its start. Each says
it in its own words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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


def never_ends(*, endless: bool, steps: int) -> bool:
    """Whether a pass would have no end: the data have none, and no number of batches is given."""
    return endless and not steps


@dataclass(frozen=True, slots=True)
class Unkept:
    """Why a layer's states cannot be kept from batch to batch: by the field, and what helps."""

    field: str
    why: str
    advice: str


def unkept(
    states: tuple[str, int], apart: str, batch: int, samples: Mapping[str, int]
) -> Unkept | None:
    """What keeps a recurrent layer made with `stateful=True` from training; None if nothing does.

    `states` are its name, and of how many samples it has a state: row k of a batch goes on from row
    k of the batch before, so that all have this length, and none is cut. `apart` names the parts
    that cut it, such as `2 replicas`; empty if none do. `batch` is 0 where it is not known, and
    `samples` are those of each split that is read to its end, by a word for it.
    """
    layer, kept = states
    keeps = f"the layer {layer} keeps a state of each of {kept} samples for the next batch"
    if apart:
        micro = apart.endswith("micro-batches")
        field = "distribution.placed.micro_batches" if micro else "distribution.strategy"
        why = f"{keeps} (stateful=True), which {apart} cannot share"
        return Unkept(
            field,
            why,
            'choose "none", "one_device", or "placed" with micro_batches = 1; or make the model '
            "without stateful=True",
        )
    if batch and batch != kept:
        why = f"{keeps} (stateful=True), and batches have {batch}"
        advice = f"set training.batch_size to {kept}, or make the model with batch_size={batch}"
        return Unkept("training.batch_size", why, advice)
    for split, count in samples.items():
        if count % kept:
            left = count % kept
            why = f"{keeps} (stateful=True), and the last batch of {split} samples has {left}"
            advice = f"let the {split} samples be a multiple of {kept}"
            return Unkept("training.batch_size", why, advice)
    return None


def parts_in_words(count: int, what: str, *, served: bool = False) -> str:
    """The parts that a batch is cut into, for `unkept`, or the workers that servers have."""
    return f"{count} {what}" if count > 1 else "workers" if served else ""


def read_to_their_ends(
    training: Training, train: int, validation: int, test: int
) -> dict[str, int]:
    """The samples of the splits that are read to the last one, for `unkept`."""
    return {
        "training": 0 if training.steps_per_epoch else train,
        "validation": 0 if training.validation_steps else validation,
        "test": test,
    }
