"""Tables as data: which columns are inputs and targets, and what the header of a file says.

Only the header is read here, so that the window may check as often as it likes. The trainer reads
the rows.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from gpu_studio.common.safe_files import opened
from gpu_studio.plan import parquet
from gpu_studio.plan.data import IMAGES
from gpu_studio.plan.options import BuiltIn, Option, nearest
from gpu_studio.plan.values import Data, Problem, listed, printable

JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (".csv", *JSON_LINES, parquet.SUFFIX)
SEPARATORS: Mapping[str, str] = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
"""The character between two cells, by what the option calls it."""
MATRIX, COLUMNS = "matrix", "columns"
_HEADER_BYTES = 1 << 20
"""A header ends within so much of the file."""
_FEW = 12

TABLE = BuiltIn(
    "a table",
    "a CSV file with a header, JSON lines or a Parquet file: a row, or an object, for each sample",
    (
        Option("inputs", "texts", [], "the columns that a model sees; none: all the others"),
        Option("targets", "texts", [], "the columns that are learnt"),
        Option("weight", "text", "", "the column that says how much each sample counts"),
        Option("texts", "texts", [], "columns that are texts though they look like numbers"),
        Option("values", "texts", [], "columns of whole numbers that are values, not class ids"),
        Option(
            "form",
            "choice",
            "auto",
            "inputs as one matrix, or each column for itself by its name; auto: a matrix where all "
            "are numbers",
            choices=("auto", MATRIX, COLUMNS),
        ),
        Option(
            "separator",
            "choice",
            "auto",
            "what stands between two cells; auto: as in the header",
            choices=("auto", *SEPARATORS),
        ),
        Option(
            "decimal", "choice", "point", "how fractions are written", choices=("point", "comma")
        ),
        Option("images", "text", "", "the column with the names of image files, an input"),
        Option("folder", "text", "", "the folder of those files, from the table's own", free=True),
        *(option for option in IMAGES.options if option.name in ("size", "colours")),
    ),
)
"""The options of `data.table`."""


class TableError(Exception):
    """Why a file is no table that data can be read from.

    `what` describes it ("it is empty"), and `advice` says what to do. `option` is that of the
    plan's options to blame, or empty.
    """

    def __init__(self, what: str, advice: str, option: str = "") -> None:
        super().__init__(f"{what}: {advice}")
        self.what, self.advice, self.option = what, advice, option


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a table's columns, in order, and the character between its cells.

    JSON lines and Parquet files have none: there it is empty.
    """

    names: tuple[str, ...]
    separator: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns that a plan reads, by name; the last three are None if not wanted.

    `images` is not among the inputs, though it is one.
    """

    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None = None
    groups: str | None = None
    images: str | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """Every column once."""
        further = [each for each in (self.images, self.weight, self.groups) if each is not None]
        return tuple(dict.fromkeys((*self.inputs, *self.targets, *further)))


def header_of(path: Path, separator: str = "auto") -> Header:
    """The header of the table at `path`, which is a file. `separator` is the plan's option.

    That of JSON lines are the keys of the first object, but for lists and objects in it, and that
    of a Parquet file its columns, but for nested ones. Raises TableError, and OSError if the file
    cannot be read.
    """
    with opened(path, follow=True) as file:
        if is_parquet(path):
            return _footer_of(file)
        start = file.read(_HEADER_BYTES)
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise not_utf8("but in UTF-16")
    cut = len(start) == _HEADER_BYTES
    start = start.removeprefix(codecs.BOM_UTF8)
    try:
        text = start.decode()
    except UnicodeDecodeError as error:
        # A character may be cut in two where the reading stopped.
        if not cut or error.start < len(start) - 4:
            line = start[: error.start].count(b"\n") + 1
            raise not_utf8(f"line {line} shows") from error
        text = start[: error.start].decode()
    if not text.strip():
        raise TableError("it is empty", "a table has a line with the names of its columns first")
    if path.suffix.lower() in JSON_LINES:
        first = next(filter(str.strip, text.split("\n")))
        found = json_object(first, 1 + text.count("\n", 0, text.find(first)))
        cells = [name for name, value in found.items() if not isinstance(value, dict | list)]
        return Header(tuple(cells), "")
    mark = SEPARATORS.get(separator) or max(
        SEPARATORS.values(), key=lambda each: _cells(text, each)
    )
    return Header(tuple(name.strip() for name in _first_row(text, mark)), mark)


def is_parquet(path: Path) -> bool:
    """Whether a table of this name is taken for a Parquet file."""
    return path.suffix.lower() == parquet.SUFFIX


def _footer_of(file: BinaryIO) -> Header:
    try:
        return Header(parquet.names_in(file), "")
    except parquet.FooterError as error:
        raise TableError(error.what, error.advice) from error


def json_object(line: str, number: int) -> dict[str, Any]:
    """One of the JSON lines, with numbers as texts: what a column holds is not known yet.

    Raises TableError for what is no object, and for an object that has a name twice.
    """

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = printable(str(_twice([name for name, _ in pairs])))
            raise TableError(f"line {number} has {twice} twice", "leave out one of the two")
        return found

    try:
        found = json.loads(
            line,
            parse_int=str,
            parse_float=str,
            parse_constant=str,
            object_pairs_hook=as_object,
        )
    except (ValueError, RecursionError) as error:
        said = f"line {number} is no JSON ({error})"
        raise TableError(said, "write one object in each line, {…}, and nothing else") from error
    if not isinstance(found, dict):
        advice = 'write an object, such as {"rooms": 3, "price": 120000}'
        raise TableError(f"line {number} is no object with names", advice)
    return found


def column_names(path: Path, separator: str = "auto") -> tuple[str, ...]:
    """The names of the columns in the file at `path`; none if it is no table."""
    try:
        found = path.stat()
        return _names(path, separator, found.st_mtime_ns, found.st_size)
    except (TableError, OSError, ValueError):
        return ()


@lru_cache(maxsize=16)  # a form asks at every keystroke
def _names(path: Path, separator: str, _changed: int, _size: int) -> tuple[str, ...]:
    names = header_of(path, separator).names
    return tuple(name for name in dict.fromkeys(names) if name)


def _cells(text: str, separator: str) -> int:
    """How many cells the header has with this separator; -1 if it can be none."""
    try:
        return len(_first_row(text, separator))
    except TableError:
        return -1


def _first_row(text: str, separator: str) -> list[str]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return next(filter(None, rows), [])
    except csv.Error as error:
        raise TableError(
            f"its first line is no header ({error})",
            "write the names of the columns there, and close every quote",
        ) from error


def not_utf8(where: str) -> TableError:
    """The error for a text in another encoding; `where` says where that is seen."""
    return TableError(
        f"it is not written in UTF-8, {where}",
        "save it as UTF-8 (iconv -f latin1 -t utf-8, or “CSV UTF-8” in a spreadsheet)",
    )


def chosen_columns(header: Header, options: Mapping[str, Any], groups: str | None) -> Chosen:
    """The columns that a plan with these options reads. `groups` is the column of `data.groups`.

    Raises TableError for a column that is not there, or is there twice, or is both input and
    target, and where nothing is left.
    """
    values = TABLE.values(options)
    targets, weight = tuple(values["targets"]), values["weight"] or None
    images = values["images"] or None
    kept = {*targets, weight, groups}
    inputs = tuple(values["inputs"])
    if not inputs and images is None:
        inputs = tuple(name for name in header.names if name and name not in kept)
    chosen = Chosen(inputs, targets, weight, groups, images)
    _check_present(header, chosen, values)
    _check_apart(chosen)
    _check_values(chosen, values)
    return chosen


def _check_present(header: Header, chosen: Chosen, values: Mapping[str, Any]) -> None:
    """Raise TableError for a column that is not there, or is there twice."""
    weight = (chosen.weight,) if chosen.weight is not None else ()
    named = {"inputs": chosen.inputs, "targets": chosen.targets, "weight": weight}
    named |= {option: tuple(values[option]) for option in ("texts", "values")}
    for option, names in named.items():
        for name in names:
            _check(header, name, option)
    if chosen.images is not None:
        others = (*chosen.inputs, *chosen.targets, chosen.weight, chosen.groups)
        _check_images(header, chosen.images, others)
    if chosen.groups is not None:
        _check(header, chosen.groups, "")


def _check_apart(chosen: Chosen) -> None:
    """Raise TableError where a column stands for two things, or nothing is left as an input."""
    learnt = (*chosen.targets, chosen.weight)
    if both := [name for name in chosen.inputs if name in (*learnt, chosen.groups)]:
        raise TableError(
            f"{printable(both[0])} is an input, and a target, weight or group as well",
            "leave it out of one of them",
            "inputs",
        )
    if chosen.groups is not None and chosen.groups in learnt:
        raise TableError(
            f"{printable(chosen.groups)} is the group of a sample, and a target or weight as well",
            "give the groups a column of their own, and name it in data.groups",
        )
    if not chosen.inputs and chosen.images is None:
        raise TableError(
            "no column is left as an input",
            "name the columns that the model sees in data.options.inputs",
            "inputs",
        )


def _check_values(chosen: Chosen, values: Mapping[str, Any]) -> None:
    """Raise TableError where a column of values is read as texts."""
    for name in values["values"]:
        if name in values["texts"]:
            raise TableError(
                f"{printable(name)} is named in values and in texts",
                "leave it out of data.options.texts if its numbers are learnt or seen as such",
                "values",
            )
        if name in (chosen.images, chosen.groups):
            held = "images" if name == chosen.images else "the group of a sample"
            raise TableError(
                f"{printable(name)} names {held}, and is no column of values",
                "leave it out of data.options.values",
                "values",
            )


def _check_images(header: Header, images: str, others: Sequence[str | None]) -> None:
    _check(header, images, "images")
    if images in others:
        raise TableError(
            f"{printable(images)} names images, and is an input, target, weight or group too",
            "leave it out of one of them",
            "images",
        )


def _check(header: Header, name: str, option: str) -> None:
    found = header.names.count(name)
    if found > 1:
        raise TableError(
            f"{found} columns are called {printable(name)}",
            "give each a name of its own in the header",
            option,
        )
    if not found or not name:
        raise TableError(f"there is no column {printable(name)}", _there(header, name), option)


def _there(header: Header, name: str) -> str:
    names = [each for each in header.names if each]
    close = nearest(name, names)
    if len(names) == 1:
        return (
            f"there is {printable(names[0])} only: choose what stands between the cells with "
            "data.options.separator, if that are several"
        )
    some = listed([*names[:_FEW], *([f"{len(names) - _FEW} more"] if len(names) > _FEW else [])])
    return f"did you mean {printable(close)}? There are {some}" if close else f"there are {some}"


def columns_named(data: Data) -> Iterator[Problem]:
    """What is wrong with the options of a table, whatever file it is."""
    problems = TABLE.problems("data.options", data.options)
    yield from problems
    if problems:
        return
    values = TABLE.values(data.options)
    if not values["targets"]:
        advice = 'name the columns that are learnt, as targets = ["price"]'
        yield Problem("data.options.targets", "missing", advice)
    for option in ("inputs", "targets", "texts", "values"):
        twice = _twice(values[option])
        if twice is not None:
            yield Problem(
                f"data.options.{option}", f"{printable(twice)} is named twice", "name it once"
            )


def _twice(names: Sequence[str]) -> str | None:
    return next((name for place, name in enumerate(names) if name in names[:place]), None)
