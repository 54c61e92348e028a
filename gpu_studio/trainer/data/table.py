"""Read data from the user's CSV file, JSON lines or Parquet file: the columns that a plan names.

A column of numbers is one of numbers all the way down: which it is, its first rows say, or the
file's own types. A cell that is none is an error with its line, and never silently a text or a
missing value.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.common.figures import size
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
from gpu_studio.trainer.data.free_memory import bytes_for_data, free_bytes
from gpu_studio.trainer.data.image_folder import sample_shape
from gpu_studio.trainer.data.in_files import PictureFiles
from gpu_studio.trainer.data.on_disk import RecordField, Shelf, check_disk, shelf_folder
from gpu_studio.trainer.data.parquet import pieces_of, rows_in
from gpu_studio.trainer.data.table_columns import TableColumn, looks_like_numbers
from gpu_studio.trainer.data.trees import flat
from gpu_studio.trainer.data.values import Array, LoadedData
from gpu_studio.trainer.errors import DataError

_ROWS = 1 << 14
"""Rows that are converted at once: the cells of more of them would only take memory."""
_LOOKED_AT = 1000
"""Cells that say whether a column holds numbers."""
_SMALLER = (
    "Name fewer columns in data.options.inputs.",
    "Give arrays as an .npz file (numpy.savez): those can stay in the file.",
)


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
        return _source(path, chosen, columns, options)
    except TableError as error:
        raise _refused(path, error.what, error.advice) from error
    except OSError as error:
        raise _refused(path, "cannot be read", error.strerror or str(error)) from error
    except MemoryError as error:
        why = f": {error}" if str(error) else ""
        raise DataError(f"{path} does not fit into memory{why}.", _SMALLER) from error


def _refused(path: Path, what: str, advice: str) -> DataError:
    first = advice[:1].upper() + advice[1:]
    return DataError(f"{path.name}: {what}.", [first if first.endswith("?") else f"{first}."])


def _columns(
    path: Path, header: Header, chosen: Chosen, options: Mapping[str, Any]
) -> dict[str, TableColumn]:
    """Read the columns. Raises TableError, OSError and MemoryError."""
    columns: dict[str, TableColumn] = {}
    with io.TextIOWrapper(opened(path, follow=True), "utf-8-sig", newline="") as file:
        rows = _rows(path, file, header, chosen.all)
        while piece := list(islice(rows, _ROWS)):
            lines = [line for line, _ in piece]
            cells = [row for _, row in piece]
            if not columns:
                shelf = _shelf_for(path, _cells_in(path, len(chosen.all), cells))
                columns = _begun(header, chosen, options, cells, shelf)
            for column in columns.values():
                column.take([row[column.place] for row in cells], lines)
    if not columns:
        raise _no_rows()
    return columns


def _stored(
    path: Path, header: Header, chosen: Chosen, options: Mapping[str, Any]
) -> dict[str, TableColumn]:
    """Read the columns of a Parquet file. Raises TableError, OSError and MemoryError."""
    shelf = _shelf_for(path, rows_in(path) * len(chosen.all))
    # Groups are distinguished as they are written, as in other tables.
    values = TABLE.values(options)
    texts = {*values["texts"], *filter(None, [chosen.groups, chosen.images])}
    columns: dict[str, TableColumn] = {}
    for piece in pieces_of(path, chosen.all, texts, _ROWS):
        for name, cells in piece.cells.items():
            column = columns.get(name)
            if column is None:
                numbers = not isinstance(cells, list)
                if not numbers and name in values["values"]:
                    raise _no_values(name)
                classes = not numbers and name in chosen.targets
                whole = name not in values["values"]
                place = header.names.index(name)
                column = columns[name] = TableColumn(
                    name, place, "point", numbers, classes, whole, shelf
                )
            if isinstance(cells, list):
                column.take(cells, range(piece.first, piece.first + len(cells)), "row")
            else:
                column.store(cells)
    if not columns:
        raise _no_rows()
    return columns


def _no_values(name: str) -> TableError:
    advice = "leave it out of data.options.values, or save it as numbers"
    return TableError(f"the column {printable(name)} holds texts, and no values", advice)


def _no_rows() -> TableError:
    return TableError("it has a header, but no rows", "a table has a row for each sample")


def _begun(
    header: Header,
    chosen: Chosen,
    options: Mapping[str, Any],
    rows: Sequence[Sequence[str]],
    shelf: Shelf | None,
) -> dict[str, TableColumn]:
    values = TABLE.values(options)
    begun = {}
    for name in chosen.all:
        place = header.names.index(name)
        cells = [row[place] for row in islice(rows, _LOOKED_AT)]
        # Groups are distinguished as they are written: 07 and 7 are two of them.
        texts = name in (*values["texts"], chosen.groups, chosen.images)
        numbers = not texts and looks_like_numbers(cells, values["decimal"])
        if not numbers and name in values["values"]:
            raise _no_values(name)
        classes, whole = not numbers and name in chosen.targets, name not in values["values"]
        begun[name] = TableColumn(name, place, values["decimal"], numbers, classes, whole, shelf)
    return begun


def _cells_in(path: Path, columns: int, first: Sequence[Sequence[str]]) -> int:
    """Return how many cells these columns of a table have, by the length of its `first` rows."""
    read = sum(len(cell) + 1 for row in first for cell in row)
    return int(len(first) * path.stat().st_size / max(1, read)) * columns


def _shelf_for(path: Path, cells: int) -> Shelf | None:
    """Return where so many cells are to lie if not in memory. Raises DataError if nowhere."""
    # As they are read, joined, and as the model's numbers.
    if cells * _AS_READ <= bytes_for_data():
        return None
    # As they are read, and as they are kept.
    check_disk(f"The numbers in {path.name}", cells * _ON_DISK, free_bytes(), _SMALLER)
    return Shelf()


_AS_READ, _ON_DISK = 20, 12
"""Bytes that a cell takes in memory and on disk while a table is read."""


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


def _pictures(path: Path, column: str, names: Array, options: Mapping[str, Any]) -> Any:
    """The images that a column names: uint8 (n, height, width, channels). Raises DataError.

    They are an array, or stay in their files where they do not fit into memory.
    """
    folder = path.parent / TABLE.values(options)["folder"]
    files = [os.path.join(folder, os.fsdecode(name)) for name in names]  # noqa: PTH118 (many)
    for row, file in enumerate(files, start=1):
        # What is no file could be a pipe, which would never end.
        if not os.path.isfile(file):  # noqa: PTH113 (many)
            where = f"row {row} of {printable(column)} names"
            advice = "Names of images start at the table's folder, or at data.options.folder in it."
            raise DataError(f"{path.name}: there is no image {file}, which {where}.", [advice])
    pictures = PictureFiles(files, sample_shape(options))
    if pictures.nbytes <= bytes_for_data():
        return pictures.read()
    pictures.check()
    return pictures


def _source(
    path: Path, chosen: Chosen, columns: Mapping[str, TableColumn], options: Mapping[str, Any]
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
    as_matrix = chosen.images is None and form != COLUMNS and not texts
    shelf = None if next(iter(columns.values())).shelf is None else Shelf()
    arrays = _in_memory(columns) if shelf is None else _on_disk(columns, chosen, shelf, as_matrix)
    x: Any = {each: arrays[each].reshape(-1, 1) for each in chosen.inputs if not as_matrix}
    if chosen.images is not None:
        pictures = _pictures(path, chosen.images, arrays[chosen.images], options)
        x = {**x, chosen.images: pictures} if x else pictures
    elif as_matrix and shelf is None:
        x = np.stack([arrays[each] for each in chosen.inputs], axis=1, dtype=np.float32)
    elif as_matrix:
        x = arrays[_MATRIX]
    y = {
        each: arrays[each].astype(columns[each].kind_as_target, copy=False)
        for each in chosen.targets
    }
    tree = {"x": x, "y": y if len(y) > 1 else y[chosen.targets[0]]}
    if chosen.weight is not None:
        tree[WEIGHTS] = arrays[chosen.weight]
    found = source_of(path.name, tree)
    if chosen.groups is not None:
        groups = groups_of(path.name, chosen.groups, arrays[chosen.groups], found.train)
        found = replace(found, groups=groups)
    classes = names[chosen.targets[0]] if len(y) == 1 else ()
    notes = [_said(path, shelf)] if shelf is not None else []
    notes += [each.said for each in flat(x) if isinstance(each, PictureFiles)]
    found = found.with_all(streamed=bool(notes))
    return replace(found, arrays=chosen.all, class_names=classes, notes=tuple(notes))


_MATRIX = ""
"""The name of the inputs together among the arrays; no column has it."""


def _in_memory(columns: Mapping[str, TableColumn]) -> dict[str, Array]:
    return {each: column.array() for each, column in columns.items()}


def _on_disk(
    columns: Mapping[str, TableColumn], chosen: Chosen, shelf: Shelf, as_matrix: bool
) -> dict[str, Array]:
    """Put the columns on the shelf, row by row, the inputs as one matrix if they are one.

    As they were read, they lie in a file of their own, which is gone with the columns.
    """

    def matrix(number: int) -> Array:
        pieces = [columns[each].converted(number) for each in chosen.inputs]
        return np.stack(pieces, axis=1, dtype=np.float32)

    fields = {
        name: RecordField(
            column.kind_as_target if name in chosen.targets else column.kind, column.converted
        )
        for name, column in columns.items()
        if not as_matrix or name not in chosen.inputs or name in _apart(chosen)
    }
    if as_matrix:
        fields[_MATRIX] = RecordField(np.dtype(np.float32), matrix, (len(chosen.inputs),))
    rows = [len(piece) for piece in next(iter(columns.values())).pieces]
    return shelf.records(fields, rows)


def _apart(chosen: Chosen) -> tuple[str | None, ...]:
    return (*chosen.targets, chosen.weight, chosen.groups, chosen.images)


def _said(path: Path, shelf: Shelf) -> str:
    return (
        f"The numbers in {path.name} do not fit into the memory that is free: they were written to "
        f"a file of {size(shelf.bytes)} in {shelf_folder()}, which is gone when the run ends, and "
        "each batch is read from there. Order, shuffling and resuming are as in memory; steps are "
        "slower where the disk is."
    )
