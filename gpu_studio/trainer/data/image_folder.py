"""Find, count and read the images or the texts of a folder that has one subfolder per class."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.contract.user_files import hint
from gpu_studio.plan import listed, printable
from gpu_studio.plan.data import (
    BRIGHTEST,
    COLOURS,
    IMAGE_FILES,
    IMAGES,
    TEXT_FILES,
    FileKind,
    ImageFolderError,
    Layout,
    folder_names,
    layout_of,
    mask_folders,
)
from gpu_studio.trainer.data.free_memory import bytes_for_data
from gpu_studio.trainer.data.in_files import (
    FilesAsArray,
    MaskFiles,
    PictureFiles,
    TextFiles,
    unread,
)
from gpu_studio.trainer.data.values import Array, LoadedData, Split
from gpu_studio.trainer.errors import DataError


def read_folder(folder: Path, options: Mapping[str, Any]) -> LoadedData:
    """The images in `folder`, with the splits that it brings, and the classes by name.

    Samples are in the order of their classes, then of their files' names: x uint8, y int32. Raises
    DataError for a folder that gives no classes, and an image that cannot be read. Images that do
    not fit into memory stay in their files, see `in_files`.
    """
    found, shape = images_in(folder), sample_shape(options)
    return _loaded(found, [PictureFiles(each.paths, shape) for each in found.splits])


def read_masks(folder: Path, options: Mapping[str, Any]) -> LoadedData:
    """The images in `folder` with their masks as targets, by the options of `MASKS`.

    Samples are in the order of their files' names: x uint8 (n, height, width, channels), y uint8
    (n, height, width), the class of each pixel. Masks of nothing but 0 and 255 are of 0 and 1.
    Raises DataError as `read_folder` does, and where an image has no mask, or a mask no image.
    """
    images, masks = _pairs(folder, options)
    height, width, channels = sample_shape(options)
    x, y = (
        PictureFiles(images, (height, width, channels)),
        MaskFiles(masks, images, (height, width)),
    )
    if x.nbytes + y.nbytes > bytes_for_data():
        x.check()
        y.look()
        return LoadedData(Split(x, y, streamed=True), notes=(x.said, y.said))
    pictures, classes = x.read(), y.read()
    if all(np.isin(each, (0, BRIGHTEST)).all() for each in classes):
        np.floor_divide(classes, BRIGHTEST, out=classes)
    return LoadedData(Split(pictures, classes))


def _pairs(folder: Path, options: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """List images and the mask of each. Raises DataError."""
    try:
        if not folder.is_dir():
            raise _missing(folder, IMAGE_FILES)
        images, masks = (_by_stem(each) for each in mask_folders(folder, options))
    except ImageFolderError as error:
        raise _no_layout(folder, error) from error
    except OSError as error:
        raise _not_listed(folder, error) from error
    for mine, others, without in ((images, masks, "mask"), (masks, images, "image")):
        if alone := sorted(set(mine) - set(others)):
            more = f", and {len(alone) - 1:,} more have none" if len(alone) > 1 else ""
            raise DataError(
                f"{mine[alone[0]]} has no {without} of its name{more}.",
                ["Give each image a mask of its name, up to its ending, or take it out."],
            )
    return [*images.values()], [masks[stem] for stem in images]


def _by_stem(folder: Path) -> dict[str, str]:
    """The images in a folder by their names without endings, in the order of their names."""
    with os.scandir(folder) as entries:
        paths = sorted(
            entry.path for entry in entries if IMAGE_FILES.has(entry.name) and _is_file(entry)
        )
    found = {Path(path).stem: path for path in reversed(paths)}
    if len(found) < len(paths):
        twice = next(path for path in paths if path not in found.values())
        raise DataError(
            f"{folder} holds two files called {printable(Path(twice).stem)}, but for their ending.",
            ["An image and its mask find each other by that name: rename or remove one."],
        )
    return dict(reversed(found.items()))


def read_texts(folder: Path) -> LoadedData:
    """The texts in `folder`, with the splits that it brings, and the classes by name.

    Samples are in the order of their classes, then of their files' names: x bytes, y int32. The
    bytes are those of the files. Raises DataError as `read_folder` does.
    """
    found = images_in(folder, TEXT_FILES)
    files = [TextFiles(each.paths, max(map(_size, each.paths))) for each in found.splits]
    return _loaded(found, files, copies=2)


def _loaded(found: ImageFolder, files: Sequence[FilesAsArray], copies: int = 1) -> LoadedData:
    """Return what is in the files of each split: in memory where `copies` of it fit into that."""
    streamed = copies * sum(each.nbytes for each in files) > bytes_for_data()
    for each in files:
        if streamed and isinstance(each, PictureFiles):
            each.check()
    made = iter(
        Split(each if streamed else each.read(), split.y, streamed=streamed)
        for each, split in zip(files, found.splits, strict=True)
    )
    train = next(made)
    test = None if found.test is None else next(made)
    validation = None if found.validation is None else next(made)
    notes = said_of(files) if streamed else ()
    return LoadedData(train, validation, test, class_names=class_names(found), notes=notes)


def said_of(files: Sequence[FilesAsArray]) -> tuple[str, ...]:
    """Say in one sentence that the files of all splits stay where they are."""
    paths = [path for each in files for path in each.paths]
    whole = copy(files[0])
    whole.paths, whole.shape = tuple(paths), (len(paths), *files[0].shape[1:])
    return (whole.said,)


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        raise unread(path, error) from error


def sample_shape(options: Mapping[str, Any]) -> tuple[int, int, int]:
    """Height, width and channels of a sample."""
    values = IMAGES.values(options)
    height, width = values["size"]
    return height, width, COLOURS[values["colours"]]


def class_names(found: ImageFolder) -> tuple[str, ...]:
    """The classes as texts that can be written anywhere: a file's name may be any bytes."""
    return tuple(os.fsencode(name).decode("utf-8", "replace") for name in found.classes)


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """The files of a split in the order of its samples: by class, then by name.

    `y` is int32 class ids, (n,).
    """

    paths: tuple[str, ...]
    y: Array

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True, slots=True)
class ImageFolder:
    """The contents of a folder: class names, training files, and the files of further splits."""

    classes: tuple[str, ...]
    train: ImageFiles
    test: ImageFiles | None
    validation: ImageFiles | None = None

    @property
    def splits(self) -> list[ImageFiles]:
        """The files of each split that there is: for training, testing and validation."""
        return [each for each in (self.train, self.test, self.validation) if each is not None]

    def __len__(self) -> int:
        return sum(map(len, self.splits))


def images_in(folder: Path, kind: FileKind = IMAGE_FILES) -> ImageFolder:
    """List the images, or the files of another kind, in `folder`.

    Raises DataError if it is missing, cannot be listed, or lacks such files.
    """
    try:
        if not folder.is_dir():
            raise _missing(folder, kind)
        layout = layout_of(folder, kind)
        test, validation = (
            _further(layout, split, kind) for split in (layout.test, layout.validation)
        )
        return ImageFolder(layout.classes, _training(layout, kind), test, validation)
    except ImageFolderError as error:
        raise _no_layout(folder, error) from error
    except OSError as error:
        raise _not_listed(folder, error) from error


def _no_layout(folder: Path, error: ImageFolderError) -> DataError:
    return DataError(f"{folder} {error.what}.", [f"{error.advice[0].upper()}{error.advice[1:]}."])


def _not_listed(folder: Path, error: OSError) -> DataError:
    return DataError(
        f"{error.filename or folder} cannot be read: {error.strerror or error}.",
        ["Look whether you may read the folder and all folders in it."],
    )


def _missing(folder: Path, kind: FileKind) -> DataError:
    what = "is no folder" if folder.exists() else "is not there"
    return DataError(
        f"The folder of {kind.word} {folder} {what}{hint(folder, folders=True) or '.'}",
        ["Put it back there, or change data.folder in the plan; it is relative to the plan."],
    )


def _training(layout: Layout, kind: FileKind) -> ImageFiles:
    found = [_images_of(layout.train / name, kind) for name in layout.classes]
    for name, paths in zip(layout.classes, found, strict=True):
        if not paths:
            raise _without_images(layout.train / name, kind)
    return _joined(found)


def _further(layout: Layout, folder: Path | None, kind: FileKind) -> ImageFiles | None:
    """List a further split, in which classes may have no files, or not even a folder."""
    if folder is None:
        return None
    there = set(folder_names(folder))
    found = [_images_of(folder / name, kind) if name in there else [] for name in layout.classes]
    if not any(found):
        raise DataError(
            f"{folder} holds no {kind.word} in folders of the classes.",
            [f"Put {kind.word} into folders named as the classes are, or take the folder away."],
        )
    return _joined(found)


def _joined(found: list[list[str]]) -> ImageFiles:
    y = np.repeat(np.arange(len(found), dtype=np.int32), [len(paths) for paths in found])
    return ImageFiles(tuple(path for paths in found for path in paths), y)


def _images_of(folder: Path, kind: FileKind) -> list[str]:
    """List the files of a class, sorted by name.

    A link to a file counts as one, even a broken link: that is then reported.
    """
    with os.scandir(folder) as entries:
        paths = [entry.path for entry in entries if kind.has(entry.name) and _is_file(entry)]
    _refuse_deeper(folder, kind)
    return sorted(paths)


def _is_file(entry: os.DirEntry[str]) -> bool:
    if entry.is_file():
        return True
    # `entry.path` is a text, of which a Path need not be made.
    return entry.is_symlink() and not os.path.exists(entry.path)  # noqa: PTH110


def _refuse_deeper(folder: Path, kind: FileKind) -> None:
    """Refuse files that would be overlooked: those in folders within a class folder."""
    for name in folder_names(folder):
        with os.scandir(folder / name) as entries:
            if any(kind.has(entry.name) for entry in entries):
                raise DataError(
                    f"{folder / name} holds {kind.word} within the folder of a "
                    "class, where they are not read.",
                    [
                        f"Move them up into {folder}, or out of it.",
                        (
                            "Or give the path of the folder whose folders are "
                            "the classes in data.folder."
                        ),
                    ],
                )


def _without_images(folder: Path, kind: FileKind) -> DataError:
    with os.scandir(folder) as entries:
        names = [
            entry.name for entry in entries if not entry.name.startswith(".") and entry.is_file()
        ]
    # As in FileKind.has.
    kinds = Counter(os.path.splitext(name)[1].lower() for name in names)  # noqa: PTH122
    others = [
        f"{count:,} {printable(kind) or 'without an ending'}"
        for kind, count in kinds.most_common(3)
    ]
    there = f" It holds {listed(others)}." if others else ""
    of_others = [
        f'Or learn from {other.word}: data.options = {{ holds = "{other.word}" }}.'
        for other in (IMAGE_FILES, TEXT_FILES)
        if other is not kind and sum(map(other.has, names)) > len(names) / 2
    ]
    return DataError(
        f"The class {printable(folder.name)} has no {kind.word}: {folder}.{there}",
        [f"Put {kind.word} there, or take the folder away. {kind.read}."]
        if not others
        else [f"{kind.read}: save the others so.", *of_others, "Or take the folder away."],
    )
