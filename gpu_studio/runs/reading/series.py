"""Long series of numbers to draw as curves: bounded memory, and views without copying.

`MemorySeries` are those of the memory of one device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from gpu_studio.runs.reading.pyramid import Pyramid

if TYPE_CHECKING:
    from gpu_studio.contract import DeviceMemory

Array = NDArray[np.float64]
Column = float | Sequence[float | None] | Array | None

MOST_POINTS: Final = 1 << 19
_FEWEST: Final = 256
_GROUP: Final = 4
_FORESEEN: Final = 8192


class Series:
    """Points of several columns (step, loss, time, …), in order of arrival. All values are float64.

    Storage doubles when it is full. At `most` points the older ones are thinned: each group of four
    becomes two, the points with the minimum and the maximum in column `by`. From then on ageing
    points are grouped, and whenever groups fill half of the storage their resolution halves evenly,
    over the whole series. So the newest quarter is kept whole, peaks stay, and 1,000 points per
    second cost at most 4 MiB per column, however long.

    The column `along`, if there is one, never falls: a smaller value is raised to the previous one.
    Points known in advance from a preview can be appended by `foresee`; and a thinned part can
    temporarily be `near`, with every point, in a series of its own.
    """

    def __init__(
        self, *columns: str, by: str, along: str | None = None, most: int = MOST_POINTS
    ) -> None:
        if most < _GROUP:
            raise ValueError(f"A series keeps at least {_GROUP} points, not {most}.")
        self._names = columns
        self._by = columns.index(by)
        self._along = None if along is None else columns.index(along)
        self._most = most
        self._data: Array = np.empty((len(columns), _FEWEST))
        self._ahead: Array = np.empty((len(columns), 0))
        self._ahead_from = -1
        self._old = self._size = self._total = 0
        self._group = 1
        self._pyramid = Pyramid()
        self.near: Near | None = None

    def __len__(self) -> int:
        """The number of points kept, and of those known in advance."""
        self._pass_ahead()
        return self._size + len(self._ahead[0])

    @property
    def total(self) -> int:
        """The number of points ever added.

        It changes exactly when there is something new to draw.
        """
        return self._total

    @property
    def group(self) -> int:
        """How many original points each pair of older ones represents; 1: every point is kept."""
        return self._group

    @property
    def thinned(self) -> tuple[int, float]:
        """The number of oldest points that are thinned, and how many originals each represents."""
        return self._old, max(self._group / 2, 1.0)

    @property
    def pyramid(self) -> Pyramid:
        """Blocks over column `by`, if the series has a column `along`."""
        self._pyramid.settle(self._size, self._total)
        return self._pyramid

    def column(self, name: str) -> Array:
        """Return a read-only view, shape (points,), of one column.

        A later `add` may replace it: ask again.
        """
        end = len(self)  # which may reallocate the storage
        view = self._data[self._names.index(name), :end]
        view.flags.writeable = False
        return view

    @property
    def x(self) -> Array:
        """The column `along`, shape (points,); else the first."""
        return self.column(self._names[self._along or 0])

    @property
    def y(self) -> Array:
        """The column by which they are thinned, shape (points,)."""
        return self.column(self._names[self._by])

    def is_whole(self, start: float, end: float) -> bool:
        """Whether every point from `start` to `end` along is here, not thinned or foreseen."""
        if self._along is None:
            return self._group == 1
        along, ahead = self._data[self._along], self._ahead[self._along]
        thinned = self._old > 0 and start <= float(along[self._old - 1])
        coming = len(ahead) > 0 and float(ahead[-1]) > self._newest and end > self._newest
        return not thinned and not coming

    def count(self, start: float, end: float) -> int:
        """How many points are kept from `start` to `end` of the column `along`."""
        return int(
            np.searchsorted(self.x, end, side="right") - np.searchsorted(self.x, start, side="left")
        )

    def nearest(self, place: float) -> Series:
        """The series with the most detail at this place along: this one, or the near one."""
        near = self.near
        return (
            near.series
            if near is not None and near.start <= place <= near.end and len(near.series)
            else self
        )

    def spliced(self, name: str) -> Array:
        """One column, shape (points,), with the near points in place of the thinned ones."""
        whole, near = self.column(name), self.near
        if near is None:
            return whole
        first, last = near.ends(self.x)
        return np.concatenate((whole[:first], near.column(name), whole[last:]))

    def last(self, name: str) -> float | None:
        """Return the newest value of one column; None in an empty series."""
        column = self.column(name)
        return float(column[-1]) if len(column) else None

    def add(self, *columns: Column) -> None:
        """Add points: for each column one number, or as many as the longest has (None: NaN)."""
        self._add(self._points(columns))

    def add_rows(self, rows: Sequence[Sequence[float | None]]) -> None:
        """Add points, one or more, each with a number for every column (None: not a number)."""
        self._add(np.array(rows, dtype=np.float64).T)

    def _add(self, points: Array) -> None:
        self._total += points.shape[1]
        self._raise(points)
        done = 0
        while done < points.shape[1]:
            if self._size == self._most:
                self._thin_out()
            count = min(self._most - self._size, points.shape[1] - done)
            self._grow(self._size + count)
            self._data[:, self._size : self._size + count] = points[:, done : done + count]
            self._size += count
            done += count

    def foresee(self, *columns: Column) -> None:
        """Show these points, sorted along `along`, until points up to there are added.

        Of many thousands the extremes are shown.
        """
        if self._along is None:
            raise ValueError("Only along a column can points be foreseen.")
        points = self._points(columns)
        group = -(-2 * points.shape[1] // _FORESEEN)
        if group > 2:
            whole = (points.shape[1] - 1) // group * group  # the last one is always shown
            points = np.concatenate(
                (extremes(points[:, :whole], self._by, group), points[:, whole:]), axis=1
            )
        self._total += 1
        self._ahead, self._ahead_from = points, -1

    @property
    def _newest(self) -> float:
        """The last value along, without points known in advance."""
        return float(self._data[self._along or 0, self._size - 1]) if self._size else -math.inf

    def _points(self, columns: Sequence[Column]) -> Array:
        lengths = [
            1 if column is None or isinstance(column, float | int) else len(column)
            for column in columns
        ]
        points = np.empty((len(self._names), min(lengths) and max(lengths)))
        for row, column in zip(points, columns, strict=True):
            row[:] = column
        return points

    def _raise(self, points: Array) -> None:
        if self._along is None or not points.shape[1]:
            return
        row = points[self._along]
        if self._size:
            row[0] = max(row[0], self._data[self._along, self._size - 1])
        np.maximum.accumulate(row, out=row)

    def _pass_ahead(self) -> None:
        """Append the points known in advance that are still ahead of what has been added."""
        if not self._ahead.shape[1] or self._ahead_from == self._total:
            return
        self._ahead_from = self._total
        if self._along is not None:
            self._ahead = self._ahead[:, self._ahead[self._along] > self._newest]
        end = self._size + self._ahead.shape[1]
        self._grow(end)
        self._data[:, self._size : end] = self._ahead

    def _grow(self, needed: int) -> None:
        if needed > self._data.shape[1]:
            grown = np.empty(
                (len(self._names), max(needed, min(2 * self._data.shape[1], self._most)))
            )
            grown[:, : self._size] = self._data[:, : self._size]
            self._data = grown

    def _thin_out(self) -> None:
        """Thin the ageing points, or, if they fill half of the storage, those thinned before."""
        aged = self._size - self._old - self._most // 4
        if aged < _GROUP or self._old > max(self._most // 2, _GROUP):
            self._group = max(2 * self._group, _GROUP)
            self._thin(
                0, (self._old if self._old >= _GROUP else self._size) // _GROUP * _GROUP, _GROUP
            )
            return
        self._group = max(self._group, _GROUP)
        # After most² / 16 points a whole group no longer fits beside the others: use smaller ones.
        group = min(self._group, 1 << aged.bit_length() - 1)
        self._thin(self._old, aged - aged % group, group)

    def _thin(self, first: int, count: int, group: int) -> None:
        """Keep two points per group of the `count` from `first` on, and move up the others."""
        thinned = extremes(self._data[:, first : first + count], self._by, group)
        end, gone = first + thinned.shape[1], count - thinned.shape[1]
        self._data[:, first:end] = thinned
        self._data[:, end : self._size - gone] = self._data[:, first + count : self._size]
        self._old = end if first + count > self._old else self._old - gone
        self._size -= gone
        self._pyramid.cut(first)


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Every point of a series from `start` to `end` of the column along which it comes."""

    start: float
    end: float
    series: Series

    @property
    def drawn(self) -> tuple[Array, Array]:
        """The columns `along` and `by`, each of shape (points,)."""
        places = slice(*self.ends(self.series.x))
        return self.series.x[places], self.series.y[places]

    def column(self, name: str) -> Array:
        """One column of the points from `start` to `end`, shape (points,)."""
        return self.series.column(name)[slice(*self.ends(self.series.x))]

    def ends(self, along: Array) -> tuple[int, int]:
        """The indices from `start` to `end` in the sorted `along`, which these points replace."""
        first, last = (
            np.searchsorted(along, self.start, side="left"),
            np.searchsorted(along, self.end, side="right"),
        )
        return int(first), max(int(last), int(first))


def extremes(points: Array, by: int, group: int) -> Array:
    """Pick the two of each `group` of points with the minimum and maximum of column `by`, in order.

    `points` has the shape (columns, n × group), the result (columns, 2 × n). NaN values count as
    neither, unless a group holds nothing else.
    """
    groups = points.reshape(points.shape[0], -1, group)
    values = groups[by]
    missing = np.isnan(values)
    if missing.any():
        least = np.where(missing, np.inf, values).argmin(axis=1)
        greatest = np.where(missing, -np.inf, values).argmax(axis=1)
    else:
        least, greatest = values.argmin(axis=1), values.argmax(axis=1)
    # If both are the same point (all equal, or only one number), the last point replaces one.
    greatest = np.where(least == greatest, np.where(least == group - 1, 0, group - 1), greatest)
    first = np.minimum(least, greatest)
    chosen = (
        np.stack((first, least + greatest - first), axis=1)
        + group * np.arange(len(values))[:, np.newaxis]
    )
    picked: Array = points[:, chosen.ravel()]
    return picked


# More than two hours at two samples per second before thinning; 0.4 MiB per device.
_MOST_SAMPLES: Final = 1 << 14


class MemorySeries:
    """The memory used on one logical device, in bytes. `source` says what was counted.

    Its values are those of `events.DeviceMemory`. Of runs of an older GPU Studio it is only known
    what was in use at the moment of each sample.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.latest: DeviceMemory | None = None
        self._peak = 0
        self._series = Series("time", "used", by="used", along="time", most=_MOST_SAMPLES)
        self._floor = Series("time", "least", by="least", along="time", most=_MOST_SAMPLES)

    @property
    def total(self) -> int:
        """The number of samples ever added."""
        return self._series.total

    @property
    def times(self) -> Array:
        """Seconds since 1970 (UTC) of each sample, shape (samples,)."""
        return self._series.column("time")

    @property
    def used(self) -> Array:
        """The most bytes in use since the sample before, shape (samples,)."""
        return self._series.column("used")

    @property
    def series(self) -> Series:
        """Columns time and used."""
        return self._series

    @property
    def floor(self) -> Series:
        """Columns time and least, in bytes: what stayed in use between steps, where it is known."""
        return self._floor

    @property
    def limit(self) -> int | None:
        """The device's limit in bytes; None if it has none."""
        return self.latest.limit if self.latest else None

    @property
    def source(self) -> str:
        """What was counted: `allocator`, `host` or `variables`; empty before the first sample."""
        return self.latest.source if self.latest else ""

    @property
    def peak(self) -> int:
        """The most bytes ever in use, 0 before the first sample."""
        return self._peak

    def add(self, time: float, sample: DeviceMemory) -> None:
        """Add a sample taken at `time`."""
        self.add_all((time,), (sample,))

    def add_all(self, times: Sequence[float], samples: Sequence[DeviceMemory]) -> None:
        """Add samples, one or more, and when each was taken.

        Cheaper together than one by one.
        """
        self.latest = samples[-1]
        self._peak = max(self._peak, *[sample.peak for sample in samples])
        self._series.add(times, [sample.used for sample in samples])
        least = [sample.least for sample in samples]
        if least.count(None) < len(least):
            known = [(time, of) for time, of in zip(times, least, strict=True) if of is not None]
            self._floor.add_rows(known)

    def foresee(self, later: MemorySeries) -> None:
        """Show the samples of `later` after these until they are added."""
        self._series.foresee(later.times, later.used)
        self._floor.foresee(later.floor.column("time"), later.floor.column("least"))

    def share(self, other: MemorySeries) -> None:
        """From now on, show the growing curves of `other`, with the newest sample known here."""
        self._series, self._floor = other._series, other._floor
