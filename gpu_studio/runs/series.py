"""Numbers that come for hours and are drawn as a curve: bounded memory, and views that cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_POINTS: Final = 1 << 21
_FEWEST: Final = 256


class Series:
    """Points of several columns (step, loss, time, …), in the order they came. All values are float64.

    Storage doubles when it is full. Past `most` points each group of four becomes two, the points with the least and
    the greatest value in column `by`, and from then on points are taken in such groups too: the resolution halves
    evenly over the whole series, and peaks stay. So 1,000 points a second cost 16 MiB a column at most, for ever.
    """

    def __init__(self, *columns: str, by: str, most: int = MOST_POINTS) -> None:
        if most < 4:
            raise ValueError(f"A series keeps at least 4 points, not {most}.")
        self._names = columns
        self._by = columns.index(by)
        self._most = most
        self._data: Array = np.empty((len(columns), _FEWEST))
        self._waiting: Array = np.empty((len(columns), 0))
        self._size = 0
        self._total = 0
        self._group = 1

    def __len__(self) -> int:
        """Count the points kept."""
        return self._size

    @property
    def total(self) -> int:
        """The number of points ever added; it changes exactly when there is something new to draw."""
        return self._total

    @property
    def group(self) -> int:
        """How many points that came stand behind each pair kept; 1: every point is kept."""
        return self._group

    def column(self, name: str) -> Array:
        """Return a read-only view, shape (points,), of one column. A later `add` may leave it behind: ask again."""
        view = self._data[self._names.index(name), : self._size]
        view.flags.writeable = False
        return view

    def last(self, name: str) -> float | None:
        """Return the newest value of one column; None in an empty series."""
        return float(self._data[self._names.index(name), self._size - 1]) if self._size else None

    def add(self, *columns: float | Sequence[float | None] | Array | None) -> None:
        """Add points: for each column a number, or as many numbers as the longest has (None: not a number)."""
        lengths = [1 if column is None or isinstance(column, float | int) else len(column) for column in columns]
        points = np.empty((len(self._names), min(lengths) and max(lengths)))
        for row, column in zip(points, columns, strict=True):
            row[:] = column
        self._total += points.shape[1]
        self._keep(self._thinned(points))

    def _thinned(self, points: Array) -> Array:
        """Return as many of the waiting and new points as fill whole groups, thinned; the rest waits."""
        if self._group == 1:
            return points
        points = np.concatenate((self._waiting, points), axis=1)
        whole = points.shape[1] - points.shape[1] % self._group
        self._waiting = points[:, whole:]
        return extremes(points[:, :whole], self._by, self._group)

    def _keep(self, points: Array) -> None:
        while self._size + points.shape[1] > self._most:
            points = self._halve(points)
        needed = self._size + points.shape[1]
        if needed > self._data.shape[1]:
            self._grow(needed)
        self._data[:, self._size : needed] = points
        self._size = needed

    def _grow(self, needed: int) -> None:
        capacity = max(needed, min(2 * self._data.shape[1], self._most))
        grown = np.empty((len(self._names), capacity))
        grown[:, : self._size] = self._data[:, : self._size]
        self._data = grown

    def _halve(self, points: Array) -> Array:
        """Halve what is kept; returns what remains to be kept of `points`, which came before those that wait."""
        points = np.concatenate((self._data[:, : self._size], points), axis=1)
        whole = points.shape[1] - points.shape[1] % 4
        # The odd end would have to wait with the raw points: a pair or single point more keeps the order simple.
        kept = np.concatenate((extremes(points[:, :whole], self._by, 4), points[:, whole:]), axis=1)
        self._group = max(4, 2 * self._group)
        self._size = 0
        return kept


def extremes(points: Array, by: int, group: int) -> Array:
    """Pick the two of each `group` of points with least and greatest column `by`, in order.

    `points` has the shape (columns, n × group), the result (columns, 2 × n).

    Values that are not numbers count as neither, unless a group holds nothing else.
    """
    groups = points.reshape(points.shape[0], -1, group)
    values = groups[by]
    missing = np.isnan(values)
    least = np.where(missing, np.inf, values).argmin(axis=1)
    greatest = np.where(missing, -np.inf, values).argmax(axis=1)
    # Where both are the same point (all equal, or only one number) the group's last stands in for one of them.
    greatest = np.where(least == greatest, np.where(least == group - 1, 0, group - 1), greatest)
    chosen = np.sort(np.stack((least, greatest)), axis=0)
    pairs = np.take_along_axis(groups, chosen.T[np.newaxis], axis=2)
    return pairs.reshape(points.shape[0], -1)
