"""Cut samples into training, validation and test splits: seeded, disjoint, and none lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpu_studio.plan.values import Data, DataSplit
from gpu_studio.trainer.data.split_ways import WAYS, Asked
from gpu_studio.trainer.data.values import Array, Source, Split
from gpu_studio.trainer.errors import DataError


def held_out(samples: int, fraction: float) -> int:
    """How many of `samples` the `fraction` holds out: rounded, but at least one where anything is asked for."""
    return max(1, round(samples * fraction)) if fraction > 0 else 0


def split_indices(
    samples: int,
    test_fraction: float,
    validation_fraction: float,
    seed: int,
    split: DataSplit = "random",
    classes: Array | None = None,
    groups: Array | None = None,
) -> tuple[Array, ...]:
    """The indices of the training, the validation and the test samples, each in increasing order.

    The test samples are cut off first; the validation samples are a fraction of what is left. A fraction of 0
    leaves its split empty. `split` needs the class or the group of each sample where it goes by them. Raises DataError
    if no sample would be left to train on, or none for a split that is asked for.
    """
    test = held_out(samples, test_fraction)
    validation = held_out(samples - test, validation_fraction)
    asked = Asked(samples, test, validation, seed, classes, groups)
    if samples - test - validation < 1:
        raise _nothing_left(samples, test, validation)
    parts = WAYS[split](asked)
    if any(wanted and not len(part) for part, wanted in zip(parts, (1, validation, test), strict=True)):
        raise _too_few(split, groups, 1 + sum(each > 0 for each in (validation, test)))
    return tuple(map(np.sort, parts))


def cut(source: Source, data: Data, seed: int) -> tuple[Split, Split | None, Split | None]:
    """Training, validation and test split of what data bring; splits of their own stay as they are."""
    whole = source.train
    test_fraction = 0.0 if source.test is not None else data.test_fraction
    validation_fraction = 0.0 if source.validation is not None else data.validation_fraction
    classes = whole.wanted(slice(None)) if data.split == "stratified" else None
    if classes is not None and whole.wanted_type == np.float32:
        raise _no_classes()
    training, validation, held = split_indices(
        len(whole), test_fraction, validation_fraction, seed, data.split, classes, source.groups
    )
    if len(training) == len(whole):
        return whole, source.validation, source.test
    return (
        _take(whole, training),
        source.validation or _take_any(whole, validation),
        source.test or _take_any(whole, held),
    )


def _take(split: Split, places: Array) -> Split:
    """The samples at these places of the split; no sample is copied."""
    return replace(split, rows=places if split.rows is None else split.rows[places])


def _take_any(split: Split, places: Array) -> Split | None:
    return _take(split, places) if len(places) else None


def _nothing_left(samples: int, test: int, validation: int) -> DataError:
    return DataError(
        f"The data have {samples} samples; {test} for testing and {validation} for validation leave none to train on.",
        ["Make data.test_fraction or data.validation_fraction smaller, or 0.", "Give more samples."],
    )


def _no_classes() -> DataError:
    return DataError(
        'data.split is "stratified", but the targets are numbers, and there are no classes to give their shares.',
        ['Set data.split to "random", or to "ordered" for a time series.', "Save class ids as integers."],
    )


def _too_few(split: DataSplit, groups: Array | None, splits: int) -> DataError:
    found = 0 if groups is None else len(np.unique(groups))
    few = f"there {'is 1 group' if found == 1 else f'are {found} groups'} for {splits} splits"
    return DataError(
        f'data.split is "{split}", but {few if found else f"no class has a sample for each of {splits} splits"}.',
        [
            "Set data.test_fraction or data.validation_fraction to 0, or both.",
            'Or set data.split to "random".',
        ],
    )
