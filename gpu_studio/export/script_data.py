"""What the parts of a script need to know about a plan's data, unloaded.

Of a data file only the table of contents is read. Data whose files do not tell enough cannot be
exported (`ExportError`).
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from gpu_studio.export.learning import ExportError, UnseenError
from gpu_studio.export.locating import located
from gpu_studio.export.tables import TableFacts, table_facts
from gpu_studio.placement.plan_facts import DataFacts
from gpu_studio.plan import (
    Data,
    Target,
    reference,
)
from gpu_studio.plan.catalogue import DATA, scale_of
from gpu_studio.plan.data import (
    IMAGE_FILES,
    IMAGES,
    MASKS,
    SCALES,
    ImageFolderError,
    Layout,
    are_pixels,
    are_scaled,
    are_seen_as_floats,
    folder_entry,
    further_arrays,
    groups_array,
    layout_of,
    mask_folders,
)
from gpu_studio.plan.rules.source_rules import shape_of
from gpu_studio.plan.script_calls import number_of

Header = tuple[tuple[int, ...], np.dtype[Any]]
HELD = 1 << 30
"""A script holds so many bytes of images or texts in memory."""


@dataclass(frozen=True, slots=True)
class ScriptData:
    """The data of a plan.

    `target` says what is learnt of a sample, as far as it is known; `shape` is one sample's;
    `classes` is None for values, and where only the data tell. `headers` states for each array of a
    file its name in the script, its name in the file, its shape and its type: samples, targets (of
    the training split if the file has one, then of its further splits), and the groups where the
    plan splits by them. `folder` says where in a folder of images the classes are, `masks`
    where images and their masks are. `scale` is what the plan says about bytes.
    """

    target: Target
    shape: tuple[int, ...]
    classes: int | None
    brings_test: bool
    file: Path | None = None
    headers: tuple[tuple[str, str, Header], ...] = ()
    folder: Layout | None = None
    scale: str = SCALES[0]
    brings_validation: bool = False
    table: TableFacts | None = None
    masks: tuple[Path, Path] | None = None
    in_files: bool = False

    @property
    def counted_classes(self) -> str:
        """The number of classes as an expression: the script may have to count them."""
        return "classes" if self.classes is None else str(self.classes)

    @property
    def of_images(self) -> bool:
        """Whether a sample is read from an image, and is bytes until a step wants it."""
        named = self.table is not None and self.table.columns.images is not None
        return named or self.folder is not None or self.masks is not None

    @property
    def x_kind(self) -> str:
        """The type in which a model sees samples, as NumPy names it."""
        if not self.headers:
            return "float32"
        (shape, dtype), of_file = self.headers[0][2], self.file is not None
        floats = are_seen_as_floats(dtype.name, shape, self.scale, measured=of_file)
        return "float32" if floats else dtype.name

    @property
    def tokens(self) -> bool:
        """Whether a sample is a row of token ids."""
        if not self.headers:
            return False
        shape, dtype = self.headers[0][2]
        scaled = are_scaled(dtype.name, shape, self.scale)
        return len(shape) == 2 and np.issubdtype(dtype, np.integer) and not scaled


def source_of(data: Data, base: Path, seen: DataFacts | None = None) -> ScriptData:
    """Return what is known about the data. Raises ExportError.

    Of a file only the table of contents is read, of a folder only its classes. `seen` is what the
    function returned that the data come from, if they come from one.
    """
    if data.file is not None:
        found = _data_of_file(located("data.file", data.file, base), groups_array(data))
        # Read, the numbers tell whether they are one-hot.
        return replace(found, scale=scale_of(data), target=seen.target if seen else found.target)
    if data.python is not None:
        return _data_of_function(data, seen)
    if data.table is not None:
        table = table_facts(located("data.table", data.table, base), data, seen)
        files = table.columns.images is not None and stay_in_files(seen)
        return ScriptData(
            table.target, table.shape, None, brings_test=False, table=table, in_files=files
        )
    if data.folder is not None:
        path = located("data.folder", data.folder, base)
        masked = folder_entry(data) is MASKS
        found = _data_of_masks(path, data, seen) if masked else _data_of_folder(path, data, seen)
        return replace(found, scale=scale_of(data))
    entry = DATA[str(data.name)]
    values = entry.values(data.options)
    classes = values.get("classes", entry.classes)
    target = Target((1,), measured=True) if entry.task == "values" else Target(ids=classes)
    return ScriptData(target, shape_of(entry, data.options) or (), classes, entry.brings_test)


def _data_of_function(data: Data, seen: DataFacts | None) -> ScriptData:
    if seen is None or not seen.arrays:
        named, again = reference(data.python or ""), "try again when the Plan page shows the data"
        if named and number_of(named.function) > 1:
            again = "write it by `gpu-studio export`, which trains what the script trains before"
        raise ExportError(
            f"What {data.python} returns is known once it has run, and a script depends on it: "
            f"allow the file, and {again}. Or save the arrays with numpy.savez, and name that file "
            "in data.file."
        )
    called = _called(seen.arrays, groups_array(data))
    samples = np.dtype(np.uint8 if seen.pixels else seen.x_dtype)
    header = (0, *seen.x_shape), samples
    headers = tuple((mine, name, header) for mine, name in called.items())
    tests, validates = "x_test" in called, "x_val" in called
    return ScriptData(
        seen.target,
        seen.x_shape,
        None,
        tests,
        headers=headers,
        scale=SCALES[0] if seen.pixels else "none",
        brings_validation=validates,
    )


def stay_in_files(seen: DataFacts | None, size: int = 0) -> bool:
    """Whether a script leaves images or texts in their files until a batch of them is wanted.

    It does where a run does, and where they take more than `HELD` bytes: the script may run on a
    machine with less memory. They take `size` where nobody has seen them.
    """
    return size > HELD if seen is None else not seen.in_memory or seen.bytes > HELD


def _data_of_folder(path: Path, data: Data, seen: DataFacts | None) -> ScriptData:
    try:
        layout = layout_of(path)
    except (ImageFolderError, OSError) as error:
        why = error if isinstance(error, ImageFolderError) else error.strerror or error
        raise ExportError(
            f"The folder of images {path} cannot be used ({why}), and the script depends on how it "
            "is laid out: check data.folder, which is relative to the plan."
        ) from error
    shape = shape_of(IMAGES, data.options) or ()
    tests, validates = layout.test is not None, layout.validation is not None
    return ScriptData(
        Target(),
        shape,
        None,
        tests,
        folder=layout,
        brings_validation=validates,
        in_files=stay_in_files(seen, 0 if seen else _images_in(layout) * math.prod(shape)),
    )


def _images_in(layout: Layout) -> int:
    """Count the images in the folders of the classes; 0 where one of these cannot be listed."""
    splits = filter(None, (layout.train, layout.validation, layout.test))
    folders = [split / name for split in splits for name in layout.classes]
    try:
        there = [each.name for folder in folders if folder.is_dir() for each in folder.iterdir()]
    except OSError:
        return 0
    return sum(map(IMAGE_FILES.has, there))


def _data_of_masks(path: Path, data: Data, seen: DataFacts | None) -> ScriptData:
    if seen is None:
        later = "is known once they were read: try again when the Plan page shows the data."
        raise UnseenError(f"What the masks in {path.name} hold {later}")
    try:
        folders = mask_folders(path, data.options)
    except (ImageFolderError, OSError) as error:
        raise ExportError(f"The folder {path} cannot be used ({error}).") from error
    return ScriptData(seen.target, seen.x_shape, seen.classes, brings_test=False, masks=folders)


def _data_of_file(path: Path, groups: str | None) -> ScriptData:
    # Opening a pipe that nobody writes to would block forever.
    if not path.is_file():
        raise _unreadable(path, "there is no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            return _data_with(
                path, {name.removesuffix(".npy"): _header(archive, name) for name in names}, groups
            )
    except ExportError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen kinds for a damaged file
        raise _unreadable(path, str(error)) from error


def _unreadable(path: Path, why: str) -> ExportError:
    return ExportError(
        f"The data file {path} cannot be read ({why}), and the script depends on what it holds: "
        "check data.file, which is relative to the plan."
    )


def _data_with(path: Path, headers: dict[str, Header], groups: str | None) -> ScriptData:
    if groups is not None and groups not in headers:
        raise ExportError(
            f"The data file {path} has no array {groups}, by which data.split is to go."
        )
    called = _called(headers, groups)
    if any(name.startswith(("x/", "y/", "sample_weight")) for name in headers):
        raise UnseenError(
            f"{path.name} holds several inputs or targets, or weights of the samples, and a script "
            "depends on how the model learns by them: export when the Plan page shows the model.",
            of_model=True,
        )
    if not set(called.values()) <= set(headers) or any(
        headers[name][1].hasobject for name in called.values()
    ):
        raise ExportError(
            f"The data file {path} needs arrays of numbers x_train and y_train, or x and y."
        )
    (shape, dtype), targets = headers[called["x"]], headers[called["y"]]
    grey = len(shape) == 3 and are_pixels(dtype.name, shape)
    ordered = tuple((mine, name, headers[name]) for mine, name in called.items())
    seen = (*shape[1:], 1) if grey else shape[1:]
    return ScriptData(
        _target_of(targets),
        seen,
        None,
        "x_test" in called,
        path,
        ordered,
        brings_validation="x_val" in called,
    )


def _target_of(header: Header) -> Target:
    """Return what the table of contents tells of the targets, in the shape that a run gives them.

    What numbers they are is not known by it.
    """
    shape, dtype = header[0][1:], header[1]
    measured = dtype.kind == "f"
    if math.prod(shape) == 1:
        shape = (1,) if measured and not shape else shape if measured else ()
    return Target(shape, measured)


def _called(headers: Collection[str], groups: str | None) -> dict[str, str]:
    """Return the script's names of the arrays that it needs, with their names in the file."""
    whole = ("x_train", "y_train") if "x_train" in headers else ("x", "y")
    called = dict(zip("xy", whole, strict=True))
    for part, pair in further_arrays(headers).items():
        called |= {f"x_{part}": pair[0], f"y_{part}": pair[1]}
    return called if groups is None else {**called, "groups": groups}


def _header(archive: zipfile.ZipFile, name: str) -> Header:
    with archive.open(name) as file:
        return _read_header(file)


def _read_header(file: IO[bytes]) -> Header:
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(file)
    return shape, dtype
