"""Load the data that a plan names into the dataset of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gpu_studio.common.user_paths import expanded
from gpu_studio.plan.catalogue import DATA, scale_of
from gpu_studio.plan.splitting import groups_array
from gpu_studio.plan.values import Data
from gpu_studio.trainer.data.built_in import digits, regression, synthetic
from gpu_studio.trainer.data.downloaded import cifar10, fashion_mnist, mnist
from gpu_studio.trainer.data.image_folder import read_folder
from gpu_studio.trainer.data.npz import read_npz
from gpu_studio.trainer.data.python_data import python_data
from gpu_studio.trainer.data.splits import cut, missing_classes
from gpu_studio.trainer.data.values import Dataset, LoadedData, Split, Task
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
    values = training.wanted_type == np.float32
    splits = [split for split in (training, validation, test) if split is not None]
    classes = None if values else _classes(data, name, splits)
    notes = () if values else _notes((training, validation, test), data, source)
    task: Task = "values" if values else "classes"
    return Dataset(
        name, training, validation, test, task, classes, source.class_names, notes, source.arrays
    )


def refuse_unnamed(data: Data) -> None:
    """Raises DataError for an empty path, which would mean the current folder of this process."""
    for key, value in (("file", data.file), ("folder", data.folder)):
        if value == "":
            raise DataError(
                f"data.{key} is empty.", [f"Name the {key} that the data are in: data.{key}."]
            )


def _notes(splits: Sequence[Split | None], data: Data, source: LoadedData) -> tuple[str, ...]:
    targets = [None if split is None else split.wanted(slice(None)) for split in splits]
    own = (False, source.validation is not None, source.test is not None)
    return tuple(missing_classes(targets, data.split, source.class_names, own))


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
        return folder.name, read_folder(folder, data.options).with_all(scale=scale_of(data))
    if data.name in _BUILT_IN:
        return data.name, _BUILT_IN[data.name](**DATA[data.name].values(data.options))
    unknown = "an empty data part" if data.name is None else f'name = "{data.name}"'
    raise DataError(
        "GPU Studio reads built-in data, .npz files, folders of images and "
        f"Python functions, not {unknown}.",
        [
            f"Set data.name to one of {', '.join(_BUILT_IN)}.",
            (
                "Save your own data as an .npz file and name it in data.file, or name a folder of "
                "images in data.folder."
            ),
        ],
    )


def _classes(data: Data, name: str, splits: list[Split]) -> int:
    """Return the number of classes.

    The catalogue or an option states it; otherwise it is the largest class id + 1.
    """
    known = _announced(data) if data.name in _BUILT_IN else None
    found = 1 + max(int(split.y.max()) for split in splits)
    if found < 2:
        raise DataError(
            f"{name}: every sample is of class 0.", ["Give samples of at least two classes."]
        )
    return max(known or 0, found)


def _announced(data: Data) -> int | None:
    entry = DATA[str(data.name)]
    classes: int | None = entry.values(data.options).get("classes", entry.classes)
    return classes
