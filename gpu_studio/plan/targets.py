"""What is to be learnt of a sample, and how the outputs of a model meet it.

One rule for all who ask: the trainer, the pages that say what fits, and the exported script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_studio.common.figures import grouped
from gpu_studio.plan.keras_objects import COMPILED, LOSSES, LOSSES_OF, Kind, Task, keras_name

Shape = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be learnt of one sample.

    `shape` is that of its numbers; `measured` says whether they were given as floats. `ids` is the
    largest number + 1 if all are whole and none is negative, else None. `one_hot` says whether the
    last axis always holds a single 1, and 0 otherwise. `sparse` says whether ids that number one
    class of each sample are as `mostly_absent` says: most likely values. They go from `lowest` to
    `highest`, as far as they were examined, of which nothing depends but cautions. `missing` is the
    first sample with a value that is not a number; None if all are numbers.
    """

    shape: tuple[int, ...] = ()
    measured: bool = False
    ids: int | None = None
    one_hot: bool = False
    sparse: bool = False
    lowest: float = field(default=0.0, compare=False)
    highest: float = field(default=0.0, compare=False)
    missing: int | None = field(default=None, compare=False)

    @property
    def yes_or_no(self) -> bool:
        """Whether all numbers are 0 or 1."""
        return self.ids is not None and self.ids <= 2

    @property
    def labels(self) -> bool:
        """Whether there are several numbers, each 0 or 1 by itself: several labels, a mask."""
        return self.yes_or_no and not self.one_hot and self.shape not in ((), (1,))

    @property
    def task(self) -> Task:
        """Whether classes are learnt or values, as far as that is seen without a model."""
        return "values" if self.measured and not (self.one_hot or self.labels) else "classes"

    @property
    def classes(self) -> int | None:
        """How many classes there are; None for values, and where each label is by itself."""
        if self.one_hot:
            return self.shape[-1]
        return None if self.labels or self.measured else self.ids

    @property
    def outputs(self) -> int:
        """How many units the last layer of a model for them has, if nothing else is known."""
        return self.classes or (self.shape[-1] if self.shape else 1)

    @property
    def has_strata(self) -> bool:
        """Whether each sample is of one class, so that classes can have their shares of splits."""
        values = self.measured and not (self.one_hot or self.yes_or_no)
        return len(self.shape) < 2 and self.names_classes and not values

    @property
    def names_classes(self) -> bool:
        """Whether the last axis names one class, so that classes can have their weights.

        That is the class of each sample, or of each of its steps or pixels. Ids may be floats.
        """
        return self.one_hot or (self.ids is not None and self.shape[-1:] in ((), (1,)))


MANY_IDS = 100
"""So many outputs cost little, and their ids may be those of a catalogue of which few occur."""


def mostly_absent(ids: int, occurring: int) -> bool:
    """Whether there are many class ids, most of which occur nowhere: prices, years, counts."""
    return ids > MANY_IDS and 2 * occurring < ids


def kinds_between(target: Target, outputs: Shape) -> tuple[Kind, ...]:
    """Return the kinds of learning in which outputs of this shape can meet the target.

    `classes`: the last axis scores the classes that ids number. All others compare number by
    number, where an axis of one may be missing at the end.
    """
    found: list[Kind] = []
    if _scored(target, outputs):
        found.append("classes")
    if _same(target.shape, outputs):
        found += ["one_hot"] if outputs and outputs[-1] != 1 else []
        found += ["binary", "values"]
    return tuple(found)


def kind_of(
    target: Target, outputs: Shape, loss: str = "auto", *, ends_in_sigmoid: bool = False
) -> Kind | None:
    """Return how outputs of this shape are held against the target by this loss.

    None if they cannot be: no shape fits, or `auto` would have to guess what is meant.
    """
    able = kinds_between(target, outputs)
    chosen = _chosen(target, able, ends_in_sigmoid)
    named = keras_name(loss, LOSSES)
    if named in (None, "auto", COMPILED):
        return chosen
    wanted = [chosen, *able] if chosen else list(able)
    return next((kind for kind in wanted if named in LOSSES_OF[kind]), None)


def _chosen(target: Target, able: Sequence[Kind], ends_in_sigmoid: bool) -> Kind | None:
    if "classes" in able and not (target.measured and "values" in able):
        return "classes"
    if "values" not in able:
        return None
    if target.one_hot and "one_hot" in able and not ends_in_sigmoid:
        return "one_hot"
    if target.yes_or_no and (target.one_hot or target.labels or not target.measured):
        return "binary"
    if target.yes_or_no and ends_in_sigmoid:
        return "binary"
    # Whole numbers that are no classes of these outputs: counts, or ids of a model too small.
    return "values" if target.measured else None


def _same(shape: tuple[int, ...], outputs: Shape) -> bool:
    alike = [outputs, (*outputs, 1)]
    alike += [outputs[:-1]] if outputs[-1:] == (1,) else []
    return any(_fits(shape, each) for each in alike)


def _scored(target: Target, outputs: Shape) -> bool:
    scores = outputs[-1] if outputs else None
    if target.ids is None or scores is None or scores < max(2, target.ids):
        return False
    of_each = target.shape[:-1] if target.shape[-1:] == (1,) else target.shape
    return _fits(of_each, outputs[:-1])


def _fits(shape: tuple[int, ...], outputs: Shape) -> bool:
    return len(shape) == len(outputs) and all(
        given in (None, wanted) for given, wanted in zip(outputs, shape, strict=True)
    )


def in_words(target: Target) -> str:
    """Say what is learnt of a sample: `one of 3 classes`, `16 × 16, each one of 3 classes`."""
    sizes = " × ".join(grouped(axis) for axis in target.shape)
    if target.one_hot:
        places = " × ".join(grouped(axis) for axis in target.shape[:-1])
        each = f"one of {grouped(target.shape[-1])} classes, one-hot"
        return f"{places}, each {each}" if places else each
    if target.labels:
        return f"{sizes} labels, each 0 or 1" if len(target.shape) == 1 else f"{sizes}, each 0 or 1"
    if target.measured:
        return "one value" if target.shape in ((), (1,)) else f"{sizes} values"
    if target.ids is None:
        return "one whole number" if target.shape in ((), (1,)) else f"{sizes} whole numbers"
    each = f"one of {grouped(target.ids)} classes"
    return each if not target.shape else f"{sizes}, each {each}"


def fitting_outputs(target: Target) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of outputs that `auto` takes for these targets, the likeliest first."""
    same = target.shape or (1,)
    if target.one_hot or (target.measured and not target.labels):
        return (same,)
    of_each = target.shape[:-1] if target.shape[-1:] == (1,) else target.shape
    scored = (*of_each, max(2, target.ids or 2))
    if target.labels:
        return (same, scored)
    return (scored, same) if target.yes_or_no else (scored,)
