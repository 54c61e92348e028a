"""The forms in which data may come: image folders and arrays, their options, and their splits.

An image folder has the layout of Keras' `image_dataset_from_directory`: one folder per class,
or `train/` with these, and optionally `val/` and `test/`. Only names are read, and never those
of all images of a class, so that the window may check as often as it likes. The trainer lists
the images and checks that they can be read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gpu_studio.common.figures import grouped
from gpu_studio.plan.keras_objects import Task
from gpu_studio.plan.options import BuiltIn, Option
from gpu_studio.plan.values import Data, Plan, listed, printable

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
"""What the names of images end in, in small letters: the kinds that `tf.io.decode_image` reads."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of files to find in folders: what several are called, and what their names end in."""

    word: str
    suffixes: tuple[str, ...]
    read: str

    def has(self, name: str) -> bool:
        """Whether a file of this name is taken for one."""
        # `os.path` takes a tenth of the time that `Path` takes.
        suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122
        return suffix in self.suffixes and not name.startswith(".")


IMAGES_READ = "PNG, JPEG, BMP and GIF images are read, by these endings of their names"
IMAGE_FILES = FileKind("images", SUFFIXES, IMAGES_READ)
TEXT_FILES = FileKind("texts", (".txt",), "Texts are read from files that end in .txt")
TRAIN, TEST = "train", "test"
MOST_FOLDERS = 5000
"""So many folders are looked at for changes: a question waits for that."""
_NAMED = 3
_OWN_FOLDERS = "make a folder for each class, and put its files into it"


class ImageFolderError(Exception):
    """Why a folder provides no classes.

    `what` describes it ("holds no …"), and `advice` says what to do.
    """

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}: {advice}")
        self.what, self.advice = what, advice


@dataclass(frozen=True, slots=True)
class Layout:
    """The class names, in order, and the folders that contain the classes' folders.

    `test` and `validation` are None if there is no such split; their folders may lack classes.
    """

    classes: tuple[str, ...]
    train: Path
    test: Path | None = None
    validation: Path | None = None


def layout_of(folder: Path, kind: FileKind = IMAGE_FILES) -> Layout:
    """The classes in `folder`, which holds files of this kind, in alphabetical order.

    Raises ImageFolderError, and OSError if it cannot be listed.
    """
    names = folder_names(folder)
    train = _called((TRAIN,), names)
    if train is None or not _is_split(folder / train, kind):
        return Layout(_classes(folder, names, kind), folder)
    further = {"test": _called((TEST,), names), "validation": _called(VALIDATION_NAMES, names)}
    _refuse_others(names, train, further.values(), kind)
    classes = _classes(folder / train, folder_names(folder / train), kind, f"{train}/")
    for split in filter(None, further.values()):
        _refuse_new_classes(folder_names(folder / split), classes, train, split)
    return Layout(
        classes,
        folder / train,
        **{kind: folder / split for kind, split in further.items() if split},
    )


def folder_names(folder: Path) -> list[str]:
    """The folders in `folder` by name, sorted; links to folders count, hidden ones do not.

    Raises OSError.
    """
    with os.scandir(folder) as entries:
        return sorted(
            entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()
        )


def is_image_name(name: str) -> bool:
    """Whether a file of this name is taken for an image."""
    return IMAGE_FILES.has(name)


def watched_folders(folder: Path) -> list[Path]:
    """The folders whose times change when images are added, removed or renamed.

    `folder` itself first. Overwriting an image under its old name changes none of them.
    """
    return [folder, *islice(_below(folder), MOST_FOLDERS)]


def _below(folder: Path) -> Iterator[Path]:
    try:
        inner = [folder / name for name in folder_names(folder)]
        yield from inner
        for split in inner:
            if split.name.casefold() in (TRAIN, TEST, *VALIDATION_NAMES):
                yield from (split / name for name in folder_names(split))
    except (
        OSError,
        ValueError,
    ):  # missing, not allowed, or not a path: the code that reads it reports that
        return


def _called(wanted: tuple[str, ...], names: list[str]) -> str | None:
    return next((name for name in names if name.casefold() in wanted), None)


def _is_split(folder: Path, kind: FileKind) -> bool:
    """Whether a folder called `train` holds classes.

    If it holds files of the kind, it is a class of that name.
    """
    return bool(folder_names(folder)) and not _any_in(folder, kind)


def _any_in(folder: Path, kind: FileKind) -> bool:
    with os.scandir(folder) as entries:
        return any(kind.has(entry.name) for entry in entries)


def _classes(folder: Path, names: list[str], kind: FileKind, within: str = "") -> tuple[str, ...]:
    if not names:
        if _any_in(folder, kind):
            advice = f"choose the folder above it if this is one class; else {_OWN_FOLDERS}"
            raise ImageFolderError(f"holds {kind.word}, but no folder for each class", advice)
        raise ImageFolderError("holds no folders, and so no classes", _OWN_FOLDERS)
    if len(names) == 1:
        what = f"holds a single class, {within}{printable(names[0])}"
        raise ImageFolderError(what, f"training needs two or more: {_OWN_FOLDERS}")
    return tuple(names)


def _refuse_others(
    names: list[str], train: str, further: Iterable[str | None], kind: FileKind
) -> None:
    others = [name for name in names if name not in (train, *further)]
    if others:
        raise ImageFolderError(
            f"holds {_some(others)} beside {train}, which is read as the training {kind.word}",
            f"only {TRAIN}, {listed(VALIDATION_NAMES, 'or')}, and {TEST} can stand side by side: "
            "move or rename the rest",
        )


def _refuse_new_classes(found: list[str], known: tuple[str, ...], train: str, test: str) -> None:
    new = sorted(set(found) - set(known))
    if new:
        raise ImageFolderError(
            f"holds {_some([f'{test}/{name}' for name in new])}, of which "
            f"there is nothing in {train}",
            f"give the classes of {test} the names that they have in {train}",
        )


def _some(names: list[str]) -> str:
    """The first names, and the number of the others."""
    more = len(names) - _NAMED
    return (
        f"{', '.join(map(printable, names[:_NAMED]))} and {grouped(more)} more"
        if more > 0
        else listed(names)
    )


GROUPS = "groups"
"""The default name of the array with each sample's group."""
SPLITS: Mapping[str, str] = {
    "random": "any samples, drawn by the seed",
    "stratified": "each class with its share in every split",
    "ordered": "the last samples, as for a time series",
    "grouped": "whole groups, none of them in two splits",
}
"""Each way to split, with what it keeps aside."""


VALIDATION_NAMES = ("val", "valid", "validation")
"""Names of the user's own validation samples: of an image folder, or of arrays after `x_`, `y_`."""
STRATIFY = 'data.split = "stratified" gives each class its share in every split.'
"""Advice for a split that lacks a class, if that helps."""


def groups_array(data: Data) -> str | None:
    """The array with the group of each sample; None unless the plan splits by groups."""
    return (data.groups or GROUPS) if data.split == "grouped" else None


def further_arrays(there: Collection[str]) -> dict[str, tuple[str, str]]:
    """The names of samples and targets for "val" and "test", if the data have an array for them.

    One of the two arrays may be missing: `there` are the names that the data have.
    """
    known = {"val": VALIDATION_NAMES, "test": ("test",)}
    pairs = {part: [(f"x_{name}", f"y_{name}") for name in names] for part, names in known.items()}
    found = {
        part: next((pair for pair in some if set(pair) & set(there)), None)
        for part, some in pairs.items()
    }
    return {part: pair for part, pair in found.items() if pair is not None}


def path_of(data: Data) -> str | None:
    """What the data are read from, where they are not built in: a file, a folder or a function."""
    return data.file or data.folder or data.table or data.python


def brings_splits(data: Data) -> bool:
    """Whether the data may have validation samples of their own; only their reader can know."""
    return data.file is not None or data.folder is not None or data.python is not None


def may_validate(plan: Plan) -> bool:
    """Whether a run of the plan may have samples to validate with."""
    return plan.data.validation_fraction > 0 or brings_splits(plan.data)


BRIGHTEST = 255
"""What a byte of a picture is divided by, so that a model sees 0…1."""
CHANNELS = (1, 3, 4)
"""Grey, colours, and colours with what is transparent: the last axis of a picture, or of a film."""
SMALLEST_SIDE = 8
"""Pixels; less is a table: a sequence of a few features at each step has a grey picture's axes."""


SCALES = ("auto", "unit", "none")
"""What `data.options.scale` may be.

`auto`: pictures as 0…1 and other bytes as they are; `unit`: all bytes as 0…1; `none`: all as they
are.
"""


def are_scaled(dtype: str, shape: Sequence[int], scale: str) -> bool:
    """Whether samples of this NumPy type and `shape` are bytes to be divided by 255 for the model.

    `scale` is the plan's setting.
    """
    if scale == "auto":
        return are_pixels(dtype, shape)
    return dtype == "uint8" and scale == "unit"


def are_seen_as_floats(
    dtype: str, shape: Sequence[int], scale: str, *, measured: bool = False
) -> bool:
    """Whether a model sees samples of this NumPy type and `shape` as float32; if not, as they are.

    So it sees floats and scaled bytes, as `fit` does. `measured` are those of a single array of a
    file: what no number counts or names in them, such as pictures, is seen so too.
    """
    whole = dtype.startswith(("int", "uint"))
    others = (whole and len(shape) > 2) or (dtype == "bool" and len(shape) > 1)
    scaled = are_scaled(dtype, shape, scale)
    return scaled or dtype.startswith("float") or (measured and others)


def are_pixels(dtype: str, shape: Sequence[int]) -> bool:
    """Whether samples of this NumPy type and `shape` (samples first) are images made of bytes.

    Images are (samples, rows, columns, channels), grey ones also (samples, rows, columns); films
    have one more axis.
    """
    if dtype != "uint8":
        return False
    if len(shape) == 3:
        return min(shape[1:]) >= SMALLEST_SIDE
    return len(shape) > 3 and shape[-1] in CHANNELS


@dataclass(frozen=True, slots=True)
class DataEntry(BuiltIn):
    """Built-in data, or data of a known kind, with one sample's `shape` and the total of `samples`.

    Both are None if options or files determine them.
    """

    task: Task = "classes"
    shape: tuple[int, ...] | None = None
    classes: int | None = None
    samples: int | None = None
    brings_test: bool = False


COLOURS = {"rgb": 3, "grey": 1}
"""The channels of an image from a folder, by what the option calls them."""

_SCALE = Option(
    "scale",
    "choice",
    "auto",
    "the bytes that a model gets as 0…1: those of pictures (auto), all (unit), or none",
    choices=SCALES,
)

ARRAYS = BuiltIn("an .npz file", "arrays of one's own", (_SCALE,))
"""The options of `data.file`."""

_HOLDS = Option(
    "holds",
    "choice",
    IMAGE_FILES.word,
    "images or texts (.txt) in a folder for each class, or images with masks",
    choices=(IMAGE_FILES.word, TEXT_FILES.word, "masks"),
)

_SIZE = Option(
    "size",
    "ints",
    [64, 64],
    "height and width in pixels that each image is brought to",
    least=1,
    most=4096,
    fewest=2,
    longest=2,
)
_COLOURS = Option(
    "colours", "choice", "rgb", "three channels, or one of grey", choices=tuple(COLOURS)
)

IMAGES = DataEntry(
    "an image folder",
    "images, a folder for each class",
    (_HOLDS, _SIZE, _COLOURS, _SCALE),
)
"""What is known of `data.folder` before anything of it is read."""

TEXTS = DataEntry("a folder of texts", "texts, a folder for each class", (_HOLDS,), shape=())
"""The same of a folder that holds texts."""


MASKS = DataEntry(
    "a folder of images with masks",
    "images, and for each a mask of the same name: the class of every pixel",
    (
        _HOLDS,
        _SIZE,
        _COLOURS,
        _SCALE,
        Option("images", "text", "images", "the folder in it with the images", free=True),
        Option("masks", "text", "masks", "the folder in it with their masks", free=True),
    ),
)
"""The same of a folder that holds images and masks."""


def folder_entry(data: Data) -> DataEntry:
    """What is known of the plan's folder: of images, of texts, or of images with masks."""
    holds = data.options.get(_HOLDS.name)
    return TEXTS if holds == TEXT_FILES.word else MASKS if holds == "masks" else IMAGES


def mask_folders(folder: Path, options: Mapping[str, Any]) -> tuple[Path, Path]:
    """The folders of the images and of their masks in `folder`, by the options of `MASKS`.

    Raises ImageFolderError where one is missing or holds no images, and OSError.
    """
    values = MASKS.values(options)
    if values["images"] == values["masks"]:
        advice = "give the masks a folder of their own, and name it in data.options.masks"
        raise ImageFolderError("has one folder for images and masks", advice)
    for part in ("images", "masks"):
        name = printable(values[part])
        if not values[part] or not (folder / values[part]).is_dir():
            raise ImageFolderError(
                f"holds no folder {name} with the {part}",
                f"put the {part} into one, or name theirs in data.options.{part}",
            )
        if not _any_in(folder / values[part], IMAGE_FILES):
            raise ImageFolderError(f"holds no {part} in {name}", f"put them there: {IMAGES_READ}")
    return folder / values["images"], folder / values["masks"]


def files_in(data: Data) -> FileKind:
    """The files that the plan's folder holds."""
    return TEXT_FILES if folder_entry(data) is TEXTS else IMAGE_FILES
