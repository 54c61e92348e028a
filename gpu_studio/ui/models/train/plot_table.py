"""The points of a plot as a table: a row for each moment at which any of its curves has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FIRST: Final = ("time", "step", "epoch")
_A_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A curve: its name with the unit, its sorted times in seconds since 1970, shape (points,), and as many values."""

    name: str
    times: Array
    values: Array


@dataclass(frozen=True, slots=True, eq=False)
class PlotTable:
    """The columns from `start` to `end` (seconds since 1970), beside the step and the epoch of each row.

    `steps` had been trained at `times`, both shape (points,) and sorted; an epoch has `per` of them, 0 where that is
    not known. Of points of one column at one moment the last stands in the table.
    """

    columns: Sequence[Column]
    start: float
    end: float
    times: Array
    steps: Array
    per: int

    def moments(self) -> Array:
        """The moment of each row, in seconds since 1970, shape (rows,)."""
        inside = [column.times[self._inside(column)] for column in self.columns]
        return np.unique(np.concatenate(inside)) if inside else np.empty(0)

    def chunks(self, separator: str) -> Iterator[str]:
        """The heading, and then the rows, some thousands at a time; each line ends in a newline."""
        yield _line([*FIRST, *(column.name for column in self.columns)], separator)
        moments = self.moments()
        cells = [self._aligned(column, moments) for column in self.columns]
        for begin in range(0, len(moments), _A_CHUNK):
            part = slice(begin, begin + _A_CHUNK)
            rows = zip(*self._counted(moments[part]), *(_texts(*cell, part) for cell in cells), strict=True)
            yield "".join(_line(row, separator) for row in rows)

    def _counted(self, moments: Array) -> tuple[list[str], list[str], list[str]]:
        """The time in UTC, the newest step that was trained, and the epoch that it belongs to."""
        clock = np.datetime_as_string((moments * 1e6).round().astype("datetime64[us]"), unit="us", timezone="UTC")
        newest = np.searchsorted(self.times, moments, side="right") - 1
        known = self.steps[newest.clip(0)].astype(np.int64) if len(self.steps) else np.zeros(len(moments), np.int64)
        steps = np.where(newest >= 0, known, -1).tolist()
        epochs = ["" if step < 0 or not self.per else str(max(-(-step // self.per), 1)) for step in steps]
        return clock.tolist(), ["" if step < 0 else str(step) for step in steps], epochs

    def _inside(self, column: Column) -> slice:
        first = np.searchsorted(column.times, self.start, side="left")
        return slice(int(first), int(np.searchsorted(column.times, self.end, side="right")))

    def _aligned(self, column: Column, moments: Array) -> tuple[Array, NDArray[np.bool_]]:
        """The values of a column at these moments, and at which of them it has any."""
        inside = self._inside(column)
        rows = np.searchsorted(moments, column.times[inside])
        values, there = np.full(len(moments), np.nan), np.zeros(len(moments), dtype=np.bool_)
        values[rows], there[rows] = column.values[inside], True
        return values, there


def _texts(values: Array, there: NDArray[np.bool_], part: slice) -> list[str]:
    pairs = zip(values[part].tolist(), there[part].tolist(), strict=True)
    return [f"{value:.9g}" if known else "" for value, known in pairs]


def _line(cells: Sequence[str], separator: str) -> str:
    return separator.join(_quoted(cell, separator) for cell in cells) + "\n"


def _quoted(cell: str, separator: str) -> str:
    """As RFC 4180 has it."""
    return '"' + cell.replace('"', '""') + '"' if separator in cell or '"' in cell or "\n" in cell else cell
