"""The images of a folder: which files they are, and of which classes. Names alone are read."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpu_studio.image_folders import ImageFolderError, Layout, folder_names, is_image_name, layout_of
from gpu_studio.plan.problems import listed, printable
from gpu_studio.runs.failures.nearest_file import hint
from gpu_studio.trainer.data.values import Array
from gpu_studio.trainer.errors import DataError

_KINDS = "PNG, JPEG, BMP and GIF images are read"


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """The files of a split in the order of its samples: by class, then by name. `y` is int32 class ids, (n,)."""

    paths: tuple[str, ...]
    y: Array

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True, slots=True)
class ImageFolder:
    """What is in a folder: the classes by name, the files to train on, and those of further splits that it brings."""

    classes: tuple[str, ...]
    train: ImageFiles
    test: ImageFiles | None
    validation: ImageFiles | None = None

    def __len__(self) -> int:
        return sum(len(files) for files in (self.train, self.test, self.validation) if files is not None)


def images_in(folder: Path) -> ImageFolder:
    """The images in `folder`. Raises DataError for one that is missing, that cannot be listed, or lacks images."""
    try:
        if not folder.is_dir():
            raise _missing(folder)
        layout = layout_of(folder)
        test, validation = _further(layout, layout.test), _further(layout, layout.validation)
        return ImageFolder(layout.classes, _training(layout), test, validation)
    except ImageFolderError as error:
        raise DataError(f"{folder} {error.what}.", [f"{error.advice[0].upper()}{error.advice[1:]}."]) from error
    except OSError as error:
        raise DataError(
            f"{error.filename or folder} cannot be read: {error.strerror or error}.",
            ["Look whether you may read the folder and all folders in it."],
        ) from error


def _missing(folder: Path) -> DataError:
    what = "is no folder" if folder.exists() else "is not there"
    return DataError(
        f"The folder of images {folder} {what}{hint(folder, folders=True) or '.'}",
        ["Put it back there, or change data.folder in the plan; it is relative to the plan."],
    )


def _training(layout: Layout) -> ImageFiles:
    found = [_images_of(layout.train / name) for name in layout.classes]
    for name, paths in zip(layout.classes, found, strict=True):
        if not paths:
            raise _without_images(layout.train / name)
    return _joined(found)


def _further(layout: Layout, folder: Path | None) -> ImageFiles | None:
    """A class may have no images in a further split, and need not even have a folder for them."""
    if folder is None:
        return None
    there = set(folder_names(folder))
    found = [_images_of(folder / name) if name in there else [] for name in layout.classes]
    if not any(found):
        raise DataError(
            f"{folder} holds no images in folders of the classes.",
            ["Put images into folders named as the classes are, or take the folder away."],
        )
    return _joined(found)


def _joined(found: list[list[str]]) -> ImageFiles:
    y = np.repeat(np.arange(len(found), dtype=np.int32), [len(paths) for paths in found])
    return ImageFiles(tuple(path for paths in found for path in paths), y)


def _images_of(folder: Path) -> list[str]:
    """The images of a class, sorted by name. A link to an image is one, even where it leads nowhere: that is told."""
    with os.scandir(folder) as entries:
        paths = [entry.path for entry in entries if is_image_name(entry.name) and _is_file(entry)]
    _refuse_deeper(folder)
    return sorted(paths)


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))  # noqa: PTH110 (of a text)


def _refuse_deeper(folder: Path) -> None:
    """Images that would go unseen: those in folders within the folder of a class."""
    for name in folder_names(folder):
        with os.scandir(folder / name) as entries:
            if any(is_image_name(entry.name) for entry in entries):
                raise DataError(
                    f"{folder / name} holds images within the folder of a class, where they are not read.",
                    [
                        f"Move them up into {folder}, or out of it.",
                        "Or give the path of the folder whose folders are the classes in data.folder.",
                    ],
                )


def _without_images(folder: Path) -> DataError:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_file()]
    kinds = Counter(os.path.splitext(name)[1].lower() for name in names)  # noqa: PTH122 (as in is_image_name)
    others = [f"{count:,} {printable(kind) or 'without an ending'}" for kind, count in kinds.most_common(3)]
    there = f" It holds {listed(others)}." if others else ""
    return DataError(
        f"The class {printable(folder.name)} has no images: {folder}.{there}",
        [f"Put images there, or take the folder away. {_KINDS}, by these endings of their names."]
        if not others
        else [f"{_KINDS}: save the others as PNG.", "Or take the folder away."],
    )
