"""Read data from the user's CSV file, JSON lines or Parquet file: the columns that a plan names.

A column of numbers is one of numbers all the way down: which it is, its first rows say, or the
file's own types. A cell that is none is an error with its line, and never silently a text or a
missing value.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.common.safe_files import opened
from gpu_studio.contract.user_files import hint
from gpu_studio.plan import listed, printable
from gpu_studio.plan.columns import (
    COLUMNS,
    MATRIX,
    TABLE,
    Chosen,
    Header,
    TableError,
    chosen_columns,
    header_of,
    is_parquet,
    json_object,
    not_utf8,
)
from gpu_studio.trainer.data.arrays import WEIGHTS, groups_of, source_of
from gpu_studio.trainer.data.image_folder import sample_shape
from gpu_studio.trainer.data.parquet import pieces_of, rows_in
from gpu_studio.trainer.data.values import Array, LoadedData, check_memory, free_bytes
from gpu_studio.trainer.errors import DataError

_ROWS = 1 << 14
"""Rows that are converted at once: the cells of more of them would only take memory."""
_LOOKED_AT = 1000
"""Cells that say whether a column holds numbers."""
_MOST_CLASSES = 10_000
_WHOLE = np.iinfo(np.int32)
_SMALLER = (
    "Name fewer columns in data.options.inputs.",
    "Give arrays as an .npz file (numpy.savez): those can stay in the file.",
)
_LONGEST = 60


def read_table(path: Path, options: Mapping[str, Any], groups: str | None = None) -> LoadedData:
    """Return the samples in the table at `path`, by the plan's `options`.

    Inputs that are all numbers make one matrix of float32 (rows, columns), in the order in which
    the plan names them; others a dictionary of columns (rows, 1) by name. One target is an array
    (rows,), several are a dictionary. A target of texts is learnt as classes, numbered in the order
    of their names. Raises DataError for a file that is missing or no table, and for a cell or a row
    that is wrong, with its line.
    """
    if not path.is_file():
        advice = [
            "Put it back there, or change data.table in the plan; it is relative to the plan."
        ]
        raise DataError(f"There is no table {path}{hint(path) or '.'}", advice)
    try:
        header = header_of(path, TABLE.values(options)["separator"])
        chosen = chosen_columns(header, options, groups)
        columns = (_stored if is_parquet(path) else _columns)(path, header, chosen, options)
    except TableError as error:
        raise _refused(path, error.what, error.advice) from error
    except OSError as error:
        raise _refused(path, "cannot be read", error.strerror or str(error)) from error
    except MemoryError as error:
        raise DataError(f"{path} does not fit into memory: {error}.", _SMALLER) from error
    return _source(path, chosen, columns, options)


def _refused(path: Path, what: str, advice: str) -> DataError:
    first = advice[:1].upper() + advice[1:]
    return DataError(f"{path.name}: {what}.", [first if first.endswith("?") else f"{first}."])


@dataclass(slots=True)
class _Column:
    """A column as it is read: pieces of numbers, or of texts as UTF-8 bytes.

    `places` numbers the names of a column of classes in the order in which they came.
    """

    name: str
    place: int
    decimal: str
    numbers: bool
    classes: bool = False
    whole: bool = True
    pieces: list[Array] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def take(self, cells: list[str], lines: Sequence[int], place: str = "line") -> None:
        """Append the cells of rows that begin in these lines.

        `place` is what errors call a line. Raises TableError.
        """
        if self.numbers:
            self.pieces.append(self._numbers(cells, lines))
        elif self.classes:
            self.pieces.append(self._classes(cells, lines, place))
        else:
            self.pieces.append(np.array(self._texts(cells, lines), np.bytes_))

    def store(self, numbers: Array) -> None:
        """Append numbers that are read as such: int64 or float32."""
        self.whole = self.whole and numbers.dtype.kind == "i"
        self.pieces.append(numbers)

    def array(self) -> Array:
        """The whole column.

        Whole numbers are int32, or int64 where they do not fit that, fractions float32, classes
        int32 by their names' order, texts bytes.
        """
        found: Array = np.concatenate(self.pieces)
        self.pieces.clear()
        if self.classes:
            rank = {name: place for place, name in enumerate(sorted(self.places))}
            order = np.array([rank[name] for name in self.places], np.int32)
            return order[found]
        if not self.numbers:
            return found
        if not self.whole:
            return found.astype(np.float32)
        small = found.min() >= _WHOLE.min and found.max() <= _WHOLE.max
        return found.astype(np.int32) if small else found

    def _numbers(self, cells: list[str], lines: Sequence[int]) -> Array:
        if self.decimal == "comma":
            cells = [cell.replace(",", ".") for cell in cells]
        # What Python takes for a number in a program is a name in a table: 12_34.
        good = "_" not in "".join(cells)
        if good and self.whole:
            try:
                return np.array([int(cell) for cell in cells], np.int64)
            except (ValueError, OverflowError):
                self.whole = False
        try:
            found = np.array([float(cell) for cell in cells], np.float64)
        except ValueError:
            good = False
        if not good or not np.isfinite(found).all():
            raise self._no_number(cells, lines)
        return found

    def _texts(self, cells: list[str], lines: Sequence[int]) -> list[bytes]:
        for cell, line in zip(cells, lines, strict=True):
            if not cell.isascii() and any("\ud800" <= letter <= "\udfff" for letter in cell):
                raise TableError(
                    f"line {line}: {printable(self.name)} has half of a character (\\ud800…)",
                    "write the whole character, or leave the row out",
                )
        return [cell.encode() for cell in cells]

    def _classes(self, cells: list[str], lines: Sequence[int], place: str) -> Array:
        for cell, line in zip(cells, lines, strict=True):
            if cell not in self.places and not cell.strip():
                raise TableError(
                    f"{place} {line}: the target {printable(self.name)} is empty",
                    "fill in its class, or leave the row out",
                )
        places = self.places
        found = np.array([places.setdefault(cell, len(places)) for cell in cells], np.int32)
        if len(places) > _MOST_CLASSES:
            raise TableError(
                f"the target {printable(self.name)} has more than {_MOST_CLASSES:,} texts",
                "learn a column of classes or of numbers",
            )
        return found

    def _no_number(self, cells: Sequence[str], lines: Sequence[int]) -> TableError:
        where = next(place for place, cell in enumerate(cells) if not _is_number(cell))
        cell = printable(cells[where])[:_LONGEST]
        said = f"line {lines[where]}: {printable(self.name)} is "
        if not cell.strip() or cell.strip().lower() in ("nan", "na", "n/a", "null", "none", "inf"):
            missing = f"{cell.strip()}, no finite number" if cell.strip() else "empty"
            return TableError(f"{said}{missing}", "fill it in, or leave the row out")
        if self.decimal == "point" and _is_number(cell.replace(",", ".")):
            advice = 'set data.options.decimal to "comma" if that is how fractions are written'
            return TableError(f"{said}{cell}, which is no number", advice)
        advice = "correct it, or name the column in data.options.texts if it holds texts"
        return TableError(f"{said}{cell}, which is no number", advice)


def _is_number(cell: str) -> bool:
    try:
        return "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def _looks_like_numbers(cells: Sequence[str], decimal: str) -> bool:
    """Whether most of the cells that hold anything are numbers, or none holds anything."""
    there = [cell for cell in cells if cell.strip()]
    if decimal == "comma":
        there = [cell.replace(",", ".") for cell in there]
    numbers = sum(map(_is_number, there))
    # Fractions with a comma are numbers, of which the reading then says how to have them read.
    numbers += sum(not _is_number(cell) and _is_number(cell.replace(",", ".")) for cell in there)
    return not there or 2 * numbers > len(there)


def _columns(
    path: Path, header: Header, chosen: Chosen, options: Mapping[str, Any]
) -> dict[str, _Column]:
    """Read the columns. Raises TableError, OSError and MemoryError."""
    columns: dict[str, _Column] = {}
    with io.TextIOWrapper(opened(path, follow=True), "utf-8-sig", newline="") as file:
        rows = _rows(path, file, header, chosen.all)
        while piece := list(islice(rows, _ROWS)):
            lines = [line for line, _ in piece]
            cells = [row for _, row in piece]
            if not columns:
                columns = _begun(header, chosen, options, cells)
                _check_memory(path, len(columns), cells)
            for column in columns.values():
                column.take([row[column.place] for row in cells], lines)
    if not columns:
        raise _no_rows()
    return columns


def _stored(
    path: Path, header: Header, chosen: Chosen, options: Mapping[str, Any]
) -> dict[str, _Column]:
    """Read the columns of a Parquet file. Raises TableError, OSError and MemoryError."""
    _check_numbers(path, rows_in(path) * len(chosen.all))
    # Groups are told apart as they are written, as in other tables.
    texts = {*TABLE.values(options)["texts"], *filter(None, [chosen.groups, chosen.images])}
    columns: dict[str, _Column] = {}
    for piece in pieces_of(path, chosen.all, texts, _ROWS):
        for name, cells in piece.cells.items():
            column = columns.get(name)
            if column is None:
                numbers = not isinstance(cells, list)
                classes = not numbers and name in chosen.targets
                place = header.names.index(name)
                column = columns[name] = _Column(name, place, "point", numbers, classes)
            if isinstance(cells, list):
                column.take(cells, range(piece.first, piece.first + len(cells)), "row")
            else:
                column.store(cells)
    if not columns:
        raise _no_rows()
    return columns


def _no_rows() -> TableError:
    return TableError("it has a header, but no rows", "a table has a row for each sample")


def _begun(
    header: Header, chosen: Chosen, options: Mapping[str, Any], rows: Sequence[Sequence[str]]
) -> dict[str, _Column]:
    values = TABLE.values(options)
    begun = {}
    for name in chosen.all:
        place = header.names.index(name)
        cells = [row[place] for row in islice(rows, _LOOKED_AT)]
        # Groups are told apart as they are written: 07 and 7 are two of them.
        numbers = name not in (
            *values["texts"],
            chosen.groups,
            chosen.images,
        ) and _looks_like_numbers(cells, values["decimal"])
        classes = not numbers and name in chosen.targets
        begun[name] = _Column(name, place, values["decimal"], numbers, classes)
    return begun


def _check_memory(path: Path, columns: int, first: Sequence[Sequence[str]]) -> None:
    """Refuse a table of which the first rows say that its numbers do not fit."""
    read = sum(len(cell) + 1 for row in first for cell in row)
    rows = len(first) * path.stat().st_size / max(1, read)
    _check_numbers(path, int(rows * columns))


def _check_numbers(path: Path, cells: int) -> None:
    # As they are read, joined, and as the model's numbers.
    check_memory(f"The numbers in {path.name}", cells * 20, free_bytes(), _SMALLER)


def _rows(
    path: Path, file: io.TextIOWrapper, header: Header, used: Collection[str]
) -> Iterator[tuple[int, list[str]]]:
    """Each row after the header that holds anything, with the line in which it begins.

    Of JSON lines only the columns in `used` are looked at, and the others are empty.
    """
    try:
        yield from _csv_rows(file, header) if header.separator else _json_rows(file, header, used)
    except UnicodeDecodeError as error:
        raise not_utf8(f"line {_first_other(path)} shows") from error


def _json_rows(
    file: io.TextIOWrapper, header: Header, used: Collection[str]
) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        found = json_object(line, number)
        yield (
            number,
            [_cell(found, name, number) if name in used else "" for name in header.names],
        )


_CELLS = {None: "", True: "1", False: "0"}


def _cell(found: Mapping[str, Any], name: str, line: int) -> str:
    if name not in found:
        raise TableError(
            f"line {line} has no {printable(name)}, which the first object has",
            "give it there, or leave the line out",
        )
    value = found[name]
    if isinstance(value, dict | list):
        raise TableError(
            f"line {line}: {printable(name)} is a list or an object, which is no cell",
            "write each of its numbers under a name of its own",
        )
    return _CELLS[value] if value is None or isinstance(value, bool) else str(value)


def _csv_rows(file: io.TextIOWrapper, header: Header) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(file, delimiter=header.separator, strict=True)
    width, before, begun = len(header.names), 0, False
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if not row:
                continue
            if begun:
                if len(row) != width:
                    raise _ragged(line, row, header)
                yield line, row
            begun = True
    except csv.Error as error:
        if "field limit" in str(error):
            raise TableError(
                f"line {before + 1}: a cell has more than {csv.field_size_limit():,} characters",
                "close the quote that is left open there, or shorten the text",
            ) from error
        raise TableError(
            f"line {before + 1}: the row is damaged ({error})",
            "close every quote, and write a quote within quotes twice",
        ) from error


def _ragged(line: int, row: Sequence[str], header: Header) -> TableError:
    cells = f"{len(row)} cell{'' if len(row) == 1 else 's'}"
    mark = header.separator
    return TableError(
        f"line {line} has {cells}, but the header has {len(header.names)}",
        f"write a cell that holds {'a tab' if mark == chr(9) else mark} in quotes, fill in what is "
        "missing, or leave the row out",
    )


def _first_other(path: Path) -> int:
    """The first line that is not UTF-8."""
    with opened(path, follow=True) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _pictures(path: Path, column: str, names: Array, options: Mapping[str, Any]) -> Array:
    """The images that a column names: uint8 (n, height, width, channels). Raises DataError."""
    folder = path.parent / TABLE.values(options)["folder"]
    files = [os.path.join(folder, os.fsdecode(name)) for name in names]  # noqa: PTH118 (many)
    for row, file in enumerate(files, start=1):
        # What is no file could be a pipe, which would never end.
        if not os.path.isfile(file):  # noqa: PTH113 (many)
            where = f"row {row} of {printable(column)} names"
            advice = "Names of images start at the table's folder, or at data.options.folder in it."
            raise DataError(f"{path.name}: there is no image {file}, which {where}.", [advice])
    shape = sample_shape(options)
    check_memory(
        f"The {len(files):,} images of {' × '.join(map(str, shape))} bytes",
        len(files) * math.prod(shape),
        free_bytes(),
        ["Make data.options.size smaller: half the height and width take a quarter of it."],
    )
    # Imported when there is something to read: other tables need no TensorFlow.
    from gpu_studio.trainer.data.image_reading import read_images

    return read_images(files, shape)


def _source(
    path: Path, chosen: Chosen, columns: Mapping[str, _Column], options: Mapping[str, Any]
) -> LoadedData:
    """Put the columns together."""
    form = TABLE.values(options)["form"]
    texts = [each for each in chosen.inputs if not columns[each].numbers]
    if form == MATRIX and texts:
        raise _refused(
            path,
            f"{listed(texts)} hold texts, of which no matrix can be made",
            f'set data.options.form to "{COLUMNS}", or leave them out of data.options.inputs',
        )
    names = {each: tuple(sorted(columns[each].places)) for each in chosen.targets}
    arrays = {each: column.array() for each, column in columns.items()}
    x: Any = {each: arrays[each].reshape(-1, 1) for each in chosen.inputs}
    if chosen.images is not None:
        pictures = _pictures(path, chosen.images, arrays[chosen.images], options)
        x = {**x, chosen.images: pictures} if x else pictures
    elif form != COLUMNS and not texts:
        x = np.stack([arrays[each] for each in chosen.inputs], axis=1, dtype=np.float32)
    y = {each: _learnt(arrays[each]) for each in chosen.targets}
    tree = {"x": x, "y": y if len(y) > 1 else y[chosen.targets[0]]}
    if chosen.weight is not None:
        tree[WEIGHTS] = arrays[chosen.weight]
    found = source_of(path.name, tree)
    if chosen.groups is not None:
        groups = groups_of(path.name, chosen.groups, arrays[chosen.groups], found.train)
        found = replace(found, groups=groups)
    classes = names[chosen.targets[0]] if len(y) == 1 else ()
    return replace(found, arrays=chosen.all, class_names=classes)


def _learnt(target: Array) -> Array:
    """Return whole numbers that count from 0 as ids, and others as values.

    Those are float32, in which Keras' losses reckon whatever they are given.
    """
    measured = target.dtype == np.int64 or (target.dtype.kind == "i" and target.min() < 0)
    return target.astype(np.float32) if measured else target
