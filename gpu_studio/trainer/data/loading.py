"""Load the data that a plan names into the dataset of a run.

They are cut into training, validation and test splits, in each way that a plan can name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.common.paths import expanded
from gpu_studio.plan import Data, DataSplit, listed, printable
from gpu_studio.plan.catalogue import DATA, scale_of
from gpu_studio.plan.data import MASKS, STRATIFY, TEXT_FILES, files_in, folder_entry, groups_array
from gpu_studio.plan.targets import in_words
from gpu_studio.trainer.data.built_in import (
    cifar10,
    digits,
    fashion_mnist,
    mnist,
    regression,
    synthetic,
)
from gpu_studio.trainer.data.image_folder import read_folder, read_masks, read_texts
from gpu_studio.trainer.data.lacking import UNLESS
from gpu_studio.trainer.data.npz import read_npz
from gpu_studio.trainer.data.returned import python_data
from gpu_studio.trainer.data.table import read_table
from gpu_studio.trainer.data.trees import is_nested
from gpu_studio.trainer.data.values import (
    Array,
    Dataset,
    LoadedData,
    Split,
    strata_of,
    target_of,
)
from gpu_studio.trainer.errors import DataError

_BUILT_IN: dict[str, Callable[..., LoadedData]] = {
    "digits": lambda: LoadedData(digits()),
    "mnist": lambda: _with_test(mnist()),
    "fashion_mnist": lambda: _with_test(fashion_mnist()),
    "cifar10": lambda: _with_test(cifar10()),
    "synthetic": lambda **options: LoadedData(synthetic(**options)),
    "regression": lambda **options: LoadedData(regression(**options)),
}


def load_data(data: Data, seed: int, base: Path) -> Dataset:
    """The data of a plan, split by `seed`.

    Paths of files and folders are relative to `base`, the plan's folder.

    Raises DataError with what to do if the data cannot be had or are not what training needs.
    """
    refuse_unnamed(data)
    name, source = _source(data, seed, base)
    training, validation, test = cut(source, data, seed)
    splits = (training, validation, test)
    stream = training.stream
    target = target_of(splits, _announced(data) if stream is None else _stated(data))
    if stream is None:
        target = _checked(name, target)
        lacking = dict.fromkeys(each for split in splits if split for each in split.lacking)
        said = (f"{each.words} {UNLESS}" for each in lacking)
        notes = (*source.notes, *said, *_notes(splits, target, data, source))
    else:
        stream.classes, notes = _stated(data), tuple(_unsplit(data, source))
    more = source.class_names, notes, source.arrays, source.fit
    return Dataset(name, training, validation, test, target, *more)


def refuse_unnamed(data: Data) -> None:
    """Raises DataError for an empty path, which would mean the current folder of this process."""
    for key, value in (("file", data.file), ("folder", data.folder), ("table", data.table)):
        if value == "":
            raise DataError(
                f"data.{key} is empty.", [f"Name the {key} that the data are in: data.{key}."]
            )


def _notes(
    splits: Sequence[Split | None], target: Any, data: Data, source: LoadedData
) -> tuple[str, ...]:
    if is_nested(target) or target.task == "values" or not target.has_strata or target.sparse:
        return ()
    targets = [
        None if split is None else strata_of(split.wanted(slice(None)), target) for split in splits
    ]
    own = (False, source.validation is not None, source.test is not None)
    return tuple(missing_classes(targets, data.split, source.class_names, own))


def _unsplit(data: Data, source: LoadedData) -> Iterator[str]:
    """Say what of the plan's splitting a stream leaves undone."""
    kind = source.train.stream.kind
    if source.validation is None and data.validation_fraction > 0:
        yield (
            f"Nothing is validated: {kind} cannot be split, so that data.validation_fraction does "
            "not count, as fit refuses validation_split for it. Let the function return (train, "
            "validation)."
        )
    if source.test is None and data.test_fraction not in (0, Data().test_fraction):
        yield (
            f"Nothing is tested: {kind} cannot be split, so that data.test_fraction does not "
            "count. Let the function return (train, validation, test)."
        )


def _with_test(pair: tuple[Split, Split]) -> LoadedData:
    return LoadedData(pair[0], test=pair[1])


def _source(data: Data, seed: int, base: Path) -> tuple[str, LoadedData]:
    """Return the name of the data and their source."""
    groups = groups_array(data)
    if data.file is not None:
        path = base / expanded(data.file)
        return path.name, read_npz(path, groups).with_all(scale=scale_of(data))
    if data.python is not None:
        return python_data(data.python, data.options, seed, base, groups)
    if data.folder is not None:
        folder = base / expanded(data.folder)
        if files_in(data) is TEXT_FILES:
            return folder.name, read_texts(folder)
        read = read_masks if folder_entry(data) is MASKS else read_folder
        return folder.name, read(folder, data.options).with_all(scale=scale_of(data))
    if data.table is not None:
        path = base / expanded(data.table)
        return path.name, read_table(path, data.options, groups)
    if data.name in _BUILT_IN:
        return data.name, _BUILT_IN[data.name](**DATA[data.name].values(data.options))
    unknown = "an empty data part" if data.name is None else f'name = "{data.name}"'
    raise DataError(
        "GPU Studio reads built-in data, .npz files, folders of images, tables "
        f"and Python functions, not {unknown}.",
        [
            f"Set data.name to one of {', '.join(_BUILT_IN)}.",
            (
                "Save your own data as an .npz file and name it in data.file, or name a folder of "
                "images in data.folder."
            ),
        ],
    )


def _checked(name: str, target: Any) -> Any:
    """Return the target, if there is more than one class. Raises DataError."""
    if not is_nested(target) and not target.measured and target.ids == 1:
        raise DataError(
            f"{name}: every sample is of class 0.", ["Give samples of at least two classes."]
        )
    return target


def _announced(data: Data) -> int | None:
    """The number of classes that the catalogue or an option states."""
    if data.name not in _BUILT_IN:
        return None
    entry = DATA[data.name]
    classes: int | None = entry.values(data.options).get("classes", entry.classes)
    return classes


def _stated(data: Data) -> int | None:
    """The number of classes in a stream, where the plan gives it to the function."""
    stated = data.options.get("classes")
    return stated if isinstance(stated, int) and stated > 0 else None


def held_out(samples: int, fraction: float) -> int:
    """How many of `samples` the `fraction` holds out.

    Rounded, but at least one where anything is asked for.
    """
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

    The test samples are cut off first; the validation samples are a fraction of what is left. A
    fraction of 0 leaves its split empty. `split` needs the class or the group of each sample where
    it goes by them. Raises DataError if no sample would be left to train on, or none for a split
    that is asked for.
    """
    test = held_out(samples, test_fraction)
    validation = held_out(samples - test, validation_fraction)
    asked = Asked(samples, test, validation, seed, classes, groups)
    if samples - test - validation < 1:
        raise _nothing_left(samples, test, validation)
    parts = PARTS_BY_SPLIT[split](asked)
    if any(
        wanted and not len(part) for part, wanted in zip(parts, (1, validation, test), strict=True)
    ):
        raise _too_few(split, groups, 1 + sum(each > 0 for each in (validation, test)))
    return tuple(map(np.sort, parts))


def cut(source: LoadedData, data: Data, seed: int) -> tuple[Split, Split | None, Split | None]:
    """Cut the data into training, validation and test splits.

    Splits of their own stay as they are.
    """
    whole = source.train
    if whole.stream is not None:
        return whole, source.validation, source.test
    test_fraction = 0.0 if source.test is not None else data.test_fraction
    validation_fraction = 0.0 if source.validation is not None else data.validation_fraction
    classes = _strata(whole) if data.split == "stratified" else None
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


def _strata(whole: Split) -> Array:
    target = target_of([whole])
    if is_nested(target) or not target.has_strata:
        raise _no_classes(target)
    return strata_of(whole.wanted(slice(None)), target)


def _take(split: Split, places: Array) -> Split:
    """Return the samples at these places of the split, without copying any."""
    return replace(split, rows=places if split.rows is None else split.rows[places])


def _take_any(split: Split, places: Array) -> Split | None:
    return _take(split, places) if len(places) else None


def _nothing_left(samples: int, test: int, validation: int) -> DataError:
    return DataError(
        f"The data have {samples} samples; {test} for testing and {validation} for validation "
        "leave none to train on.",
        [
            "Make data.test_fraction or data.validation_fraction smaller, or 0.",
            "Give more samples.",
        ],
    )


def _no_classes(target: Any) -> DataError:
    single = not is_nested(target) and target.shape in ((), (1,))
    what = "the targets are numbers" if single else f"a target is {_in_words(target)}"
    return DataError(
        f'data.split is "stratified", but {what}, and there are no classes to give their shares.',
        [
            'Set data.split to "random", or to "ordered" for a time series.',
            *(["Save class ids as integers."] if single else []),
        ],
    )


def _in_words(target: Any) -> str:
    return "a structure" if is_nested(target) else in_words(target)


def _too_few(split: DataSplit, groups: Array | None, splits: int) -> DataError:
    found = 0 if groups is None else len(np.unique(groups))
    few = f"there {'is 1 group' if found == 1 else f'are {found} groups'} for {splits} splits"
    return DataError(
        f'data.split is "{split}", but '
        f"{few if found else f'no class has a sample for each of {splits} splits'}.",
        [
            "Set data.test_fraction or data.validation_fraction to 0, or both.",
            'Or set data.split to "random".',
        ],
    )


Parts = tuple[Array, Array, Array]
# Keeps the permutation apart from every other use of the plan's seed.
_PURPOSE = 0x5B117


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """How many samples to hold out, and what is known of each: its class or its group."""

    samples: int
    test: int
    validation: int
    seed: int
    classes: Array | None = None
    groups: Array | None = None

    def generator(self) -> np.random.Generator:
        """Random numbers by the seed alone."""
        return np.random.Generator(np.random.PCG64([_PURPOSE, self.seed]))


def random(asked: Asked) -> Parts:
    """Hold out any samples."""
    return _in_turn(asked.generator().permutation(asked.samples), asked)


def ordered(asked: Asked) -> Parts:
    """Test on the last samples, and validate on those before them."""
    return _in_turn(np.arange(asked.samples)[::-1], asked)


def _in_turn(order: Array, asked: Asked) -> Parts:
    test, validation, training = np.split(order, [asked.test, asked.test + asked.validation])
    return training, validation, test


def stratified(asked: Asked) -> Parts:
    """Hold out each class's share.

    Every split gets at least one sample of a class that has enough of them.
    """
    classes = np.zeros(asked.samples, int) if asked.classes is None else asked.classes
    order = asked.generator().permutation(asked.samples)
    order = order[np.argsort(classes[order], kind="stable")]
    _, first, count = np.unique(classes[order], return_index=True, return_counts=True)
    test = shares(count, asked.test, keep=2 if asked.validation else 1)
    validation = shares(count - test, asked.validation)
    # Each sample's rank within its class.
    place = np.arange(asked.samples) - np.repeat(first, count)
    tests, held = place < np.repeat(test, count), place < np.repeat(test + validation, count)
    return order[~held], order[held & ~tests], order[tests]


def shares(counts: Array, wanted: int, keep: int = 1) -> Array:
    """Return how many samples each class gives, so that all together give `wanted`.

    Each gives its share, and the largest remainders are rounded up first. A class with two samples
    or more gives at least one; it keeps `keep` of them, or at least one.
    """
    if wanted == 0:
        return np.zeros_like(counts)
    exact = counts * wanted / counts.sum()
    given = np.floor(exact).astype(counts.dtype)
    given[np.argsort(given - exact, kind="stable")[: wanted - given.sum()]] += 1
    least = np.minimum(1, counts - 1)
    within: Array = np.clip(given, least, np.maximum(least, counts - keep))
    return within


def grouped(asked: Asked) -> Parts:
    """Hold out whole groups, never more samples than asked for unless the smallest group has more.

    Where there are as many groups as splits, each split gets one.
    """
    groups = np.arange(asked.samples) if asked.groups is None else asked.groups
    _, group, count = np.unique(groups, return_inverse=True, return_counts=True)
    order = asked.generator().permutation(len(count))
    test = _groups_for(asked.test, order, count, keep=2 if asked.validation else 1)
    validation = _groups_for(asked.validation, order[~np.isin(order, test)], count, keep=1)
    held = [np.flatnonzero(np.isin(group, chosen)) for chosen in (validation, test)]
    return np.setdiff1d(np.arange(asked.samples), np.concatenate(held)), held[0], held[1]


def _groups_for(wanted: int, order: Array, count: Array, keep: int) -> list[int]:
    """Choose groups with `wanted` samples or fewer, else the smallest; leave `keep` groups."""
    chosen: list[int] = []
    left = wanted
    for each in order:
        if count[each] <= left and len(chosen) < len(order) - keep:
            chosen.append(int(each))
            left -= int(count[each])
    if wanted and not chosen and len(order) > keep:
        chosen.append(int(order[np.argmin(count[order])]))
    return chosen


PARTS_BY_SPLIT: dict[DataSplit, Callable[[Asked], Parts]] = {
    "random": random,
    "stratified": stratified,
    "ordered": ordered,
    "grouped": grouped,
}


_NAMED = 5
_MEANS = {
    "training": "Nothing is learnt of {them}.",
    "validation": "Its figures say nothing of {them}.",
    "test": "Its figures say nothing of {them}.",
}


def missing_classes(
    targets: Sequence[Array | None],
    split: DataSplit,
    names: Sequence[str] = (),
    own: Sequence[bool] = (False,) * 3,
) -> Iterator[str]:
    """Return a sentence for each split that lacks classes which others have.

    `targets` are the class ids of the splits for training, validation and testing; None where there
    is no such split. `own` says which of them the data brought themselves: no way of splitting
    changes those, or takes samples from them.
    """
    found = [None if each is None else np.unique(each) for each in targets]
    there = np.unique(np.concatenate([classes for classes in found if classes is not None]))
    shared = np.unique(
        np.concatenate(
            [ids for ids, mine in zip(found, own, strict=True) if ids is not None and not mine]
        )
    )
    for (kind, means), classes, mine in zip(_MEANS.items(), found, own, strict=True):
        lacking = [] if classes is None else np.setdiff1d(there, classes).tolist()
        if lacking:
            helps = split == "random" and not mine and bool(np.isin(lacking, shared).any())
            them = "it" if len(lacking) == 1 else "them"
            said = (
                f"The {kind} split has no samples of {_classes_in_words(lacking, names)}. "
                f"{means.format(them=them)}"
            )
            yield f"{said} {STRATIFY}" if helps else said


def _classes_in_words(ids: Sequence[int], names: Sequence[str]) -> str:
    called = [printable(names[each]) if names else str(each) for each in ids[:_NAMED]]
    more = len(ids) - len(called)
    return (
        f"{'class' if len(ids) == 1 else 'classes'} "
        f"{listed([*called, f'{more:,} more'] if more else called)}"
    )
