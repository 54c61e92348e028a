"""Which data does a plan name? Their shapes, how many there are, and the first few of them.

Built-in data and `.npz` files need no TensorFlow. Of a folder of images only those are decoded that are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.placement.data_facts import PREVIEWED, DataFacts
from gpu_studio.placement.plan_facts import PlanFacts, encoded
from gpu_studio.plan.catalogue import DATA
from gpu_studio.trainer.answers.checkpoint import HOST
from gpu_studio.trainer.answers.images import image_facts
from gpu_studio.trainer.answers.modesty import be_modest
from gpu_studio.trainer.answers.preview import previewed
from gpu_studio.trainer.data import Dataset, Split, cache, load_data
from gpu_studio.trainer.data.loading import refuse_unnamed
from gpu_studio.trainer.data.splits import held_out
from gpu_studio.trainer.environment import settle
from gpu_studio.trainer.errors import TrainerError, UserCodeError

_BROUGHT_TEST = 10_000
"""Test samples of each of the data sets that are downloaded: MNIST, Fashion-MNIST, CIFAR-10."""


_MADE_UP = ("synthetic", "regression")
_ENOUGH = 10_000
"""Samples of made-up data that are really made for a look at them: more would show nothing more, and take a while."""
_FEWER = "Give fewer samples, or smaller ones."


class NotHereError(Exception):
    """The data would have to be downloaded, which a look at them is no reason for."""


def answer(about: dict[str, Any], progress: Callable[[str], None]) -> tuple[dict[str, Any], bool]:
    """The data of the plan in `about`, and whether that holds as long as the plan and its files stay as they are."""
    be_modest()
    plan = plans.loads(about["plan"])
    if plan.data.python or plan.data.folder:
        settle(replace(plan, devices=HOST))  # TensorFlow may well be imported, and no card is to be taken for a look
    progress("reading the data")
    cache._download = _no_download  # type: ignore[assignment]  # noqa: SLF001 (this process only looks)
    try:
        facts = replace(_looked_at(plan.data, plan.training.seed), split=plan.data.split)
        return encoded(PlanFacts(data=facts)), True
    except TrainerError as error:
        if _is_to_come(error):
            return encoded(PlanFacts(data=announced(plan.data))), False
        details = error.trace if isinstance(error, UserCodeError) else ""
        refused = PlanFacts(data_error=error.message, advice=error.suggestions, details=details)
        return encoded(replace(refused, of_the_moment=isinstance(error.__cause__, MemoryError))), False
    except MemoryError as error:
        said = f"The data do not fit into memory: {error}."
        return encoded(PlanFacts(data_error=said, advice=(_FEWER,), of_the_moment=True)), False


def _is_to_come(error: BaseException | None) -> bool:
    """Whether the error comes, in the end, of data that the first run downloads; who needs them may have said more."""
    while error is not None and not isinstance(error, NotHereError):
        error = error.__cause__
    return error is not None


def _looked_at(data: plans.Data, seed: int) -> DataFacts:
    refuse_unnamed(data)
    if data.folder is not None and data.file is None:
        return image_facts(data, seed)
    count = data.options.get("samples", 0)
    if data.name not in _MADE_UP or not isinstance(count, int) or count <= _ENOUGH:
        return facts_of(load_data(data, seed, Path()))
    few = facts_of(load_data(replace(data, options={**data.options, "samples": _ENOUGH}), seed, Path()))
    test = held_out(count, data.test_fraction)
    return replace(_divided(few, count - test, data.validation_fraction), test=test, bytes=few.bytes // _ENOUGH * count)


def _divided(facts: DataFacts, samples: int, validation_fraction: float) -> DataFacts:
    """`facts` of as many samples for training and validation."""
    validation = held_out(samples, validation_fraction)
    return replace(facts, train=samples - validation, validation=validation)


def facts_of(dataset: Dataset) -> DataFacts:
    """What the window wants to know of these data."""
    train = dataset.train
    lowest, highest = train.range()
    return DataFacts(
        name=dataset.name,
        task=dataset.task,
        classes=dataset.classes,
        train=len(train),
        validation=_count(dataset.validation),
        test=_count(dataset.test),
        x_shape=dataset.sample_shape,
        x_dtype=train.seen_type.name,
        y_shape=tuple(int(size) for size in train.y.shape[1:]),
        y_dtype=train.wanted_type.name,
        largest_token=dataset.largest_token if dataset.tokens else None,
        bytes=dataset.bytes,
        preview=previewed(train, dataset.class_names),
        class_names=dataset.class_names[:PREVIEWED],
        lowest=lowest,
        highest=highest,
        pixels=train.pixels,
        notes=dataset.notes,
        arrays=dataset.arrays,
    )


def announced(data: plans.Data) -> DataFacts:
    """What the catalogue tells of data that are not downloaded yet."""
    entry = DATA[str(data.name)]
    facts = DataFacts(
        entry.name, entry.task, entry.classes, 0, test=_BROUGHT_TEST, x_shape=entry.shape or (), here=False
    )
    return _divided(facts, (entry.samples or 0) - _BROUGHT_TEST, data.validation_fraction)


def _count(split: Split | None) -> int:
    return len(split) if split is not None else 0


def _no_download(*_: Any) -> None:
    raise NotHereError("it is downloaded by the first run")
