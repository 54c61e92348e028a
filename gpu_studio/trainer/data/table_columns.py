"""A column of a table as it is read: cells become numbers, classes or texts.

A column of numbers is one of numbers all the way down. A cell that is none is an error with its
line, and never silently a text or a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpu_studio.plan import printable
from gpu_studio.plan.columns import TableError
from gpu_studio.trainer.data.on_disk import OnShelf, Shelf
from gpu_studio.trainer.data.values import Array

_MOST_CLASSES = 10_000
_WHOLE = np.iinfo(np.int32)
_LONGEST = 60


@dataclass(slots=True)
class TableColumn:
    """A column as it is read: pieces of numbers, or of texts as UTF-8 bytes.

    They lie on the `shelf`, if there is one, else in memory. Numbers are `whole` as long as all
    are, unless the plan has them for values. `places` numbers the names of a column
    of classes in the order in which they came.
    """

    name: str
    place: int
    decimal: str
    numbers: bool
    classes: bool = False
    whole: bool = True
    shelf: Shelf | None = None
    pieces: list[Array | OnShelf] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    least: int = 0
    most: int = 0
    """Between which whole numbers those lie that were seen, and 0."""
    _longest: int = 1
    """The bytes of the longest text that was seen."""
    _ranks: Array | None = None

    def take(self, cells: list[str], lines: Sequence[int], place: str = "line") -> None:
        """Append the cells of rows that begin in these lines.

        `place` is what errors call a line. Raises TableError.
        """
        if self.numbers:
            self._keep(self._numbers(cells, lines))
        elif self.classes:
            self._keep(self._classes(cells, lines, place))
        else:
            self._keep(np.array(self._texts(cells, lines), np.bytes_))

    def store(self, numbers: Array) -> None:
        """Append numbers that are read as such: int64 or float32."""
        self.whole = self.whole and numbers.dtype.kind == "i"
        self._keep(numbers)

    def _keep(self, piece: Array) -> None:
        if piece.dtype == np.int64:
            self.least = min(self.least, int(piece.min()))
            self.most = max(self.most, int(piece.max()))
        if piece.dtype.kind == "S":
            self._longest = max(self._longest, piece.dtype.itemsize)
        self.pieces.append(piece if self.shelf is None else self.shelf.put(piece))

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of the whole column.

        Whole numbers are int32, or int64 where they do not fit that, fractions float32, classes
        int32 by their names' order, texts bytes.
        """
        if self.classes:
            return np.dtype(np.int32)
        if not self.numbers:
            return np.dtype(f"S{self._longest}")
        if not self.whole:
            return np.dtype(np.float32)
        small = self.least >= _WHOLE.min and self.most <= _WHOLE.max
        return np.dtype(np.int32 if small else np.int64)

    @property
    def kind_as_target(self) -> np.dtype[Any]:
        """The type of what is learnt: whole numbers that count from 0 are ids, others are values.

        Those are float32, in which Keras' losses reckon whatever they are given.
        """
        measured = self.kind == np.int64 or (self.kind.kind == "i" and self.least < 0)
        return np.dtype(np.float32) if measured else self.kind

    def converted(self, number: int) -> Array:
        """Return one of the pieces in the type of the whole column."""
        there = self.pieces[number]
        piece = there.read() if isinstance(there, OnShelf) else there
        if self.classes:
            return self._order[piece]
        if self.numbers and not self.whole and piece.dtype != np.float32:
            piece = piece.astype(np.float64)  # as a column of both kinds is
        return piece.astype(self.kind, copy=False)

    @property
    def _order(self) -> Array:
        """The rank of each class by its number as it came; asked for when all have come."""
        if self._ranks is None or len(self._ranks) < len(self.places):
            rank = {name: place for place, name in enumerate(sorted(self.places))}
            self._ranks = np.array([rank[name] for name in self.places], np.int32)
        return self._ranks

    def array(self) -> Array:
        """The whole column in memory. Its pieces are gone then."""
        found = np.empty(sum(map(len, self.pieces)), self.kind)
        first = 0
        for number, piece in enumerate(self.pieces):
            found[first : first + len(piece)] = self.converted(number)
            first += len(piece)
        self.pieces.clear()
        return found

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


def looks_like_numbers(cells: Sequence[str], decimal: str) -> bool:
    """Whether most of the cells that hold anything are numbers, or none holds anything."""
    there = [cell for cell in cells if cell.strip()]
    if decimal == "comma":
        there = [cell.replace(",", ".") for cell in there]
    numbers = sum(map(_is_number, there))
    # Fractions with a comma are numbers, of which the reading then says how to have them read.
    numbers += sum(not _is_number(cell) and _is_number(cell.replace(",", ".")) for cell in there)
    return not there or 2 * numbers > len(there)
