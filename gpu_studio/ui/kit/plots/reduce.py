"""Reduce a series to pixel columns.

Of the points in one column, only the lowest and the highest are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from gpu_studio.runs.reading.pyramid import Pyramid
from gpu_studio.runs.reading.series import Array, Near
from gpu_studio.ui.kit.plots.axes import TIME, Ruler
from gpu_studio.ui.kit.plots.time_view import TimeWindow

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class AxisView:
    """The window, `columns` (1 or more) pixels wide.

    `edges` are the moments at which the columns begin and end, in seconds after the run's start,
    shape (columns + 1,), sorted; on an axis that does not count seconds the columns last
    differently long.
    """

    window: TimeWindow
    columns: int
    ruler: Ruler = TIME
    edges: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", self.split(self.columns))

    def split(self, columns: int, before: int = 0) -> Array:
        """The edges of so many columns of the window, after those of `before` more to its left."""
        window = self.window
        early = window.start - window.span / columns * before
        return self.ruler.seconds(np.linspace(early, window.end, columns + before + 1))

    def shows(self, places: Array) -> Flags:
        """Which of these places are in the window, as booleans in their shape."""
        return (places >= self.window.start) & (places <= self.window.end)


Indices = npt.NDArray[np.intp]
Curve = tuple[Array, Array]


def decimate(x: Array, y: Array, start: float, end: float, columns: int) -> Curve:
    """Return the lowest and highest of the points (x, y) in each pixel column, and both ends.

    The view from `start` to `end` is `columns` (1 or more) pixels wide; `x` is sorted and as long
    as `y`. Values that are not finite are left out. At most `2 * columns + 2` points are left of
    those inside the view.
    """
    return two_a_column(*finite_points(x, y), np.linspace(start, end, columns + 1))


def finite_points(x: Array, y: Array) -> Curve:
    """The points whose value is finite."""
    finite = np.isfinite(y)
    return (x, y) if finite.all() else (x[finite], y[finite])


def two_a_column(x: Array, y: Array, edges: Array) -> Curve:
    """The same of finite points, in columns that begin and end at `edges`.

    `edges` are sorted, shape (columns + 1,).
    """
    return (x, y) if len(x) <= 2 * (len(edges) - 1) else extremes_between(x, y, edges)


def extremes_between(x: Array, y: Array, edges: Array, *, first: bool = True) -> Curve:
    """The same however few points there are; the first of all need not be left."""
    if not len(x):
        return x, y
    starts = column_starts(x, edges)
    counts = np.diff(np.append(starts, len(y)))
    kept = np.zeros(len(x), dtype=np.bool_)
    kept[0], kept[-1] = first, True
    kept[_first_equal(y, np.minimum.reduceat(y, starts), starts, counts)] = True
    kept[_first_equal(y, np.maximum.reduceat(y, starts), starts, counts)] = True
    return x[kept], y[kept]


def visible(x: Array, y: Array, start: float, end: float) -> Curve:
    """The points from `start` to `end`, and one on either side for the lines that run out."""
    first = max(int(x.searchsorted(start, side="left")) - 1, 0)
    last = int(x.searchsorted(end, side="right")) + 1
    return x[first:last], y[first:last]


def column_starts(x: Array, edges: Array) -> Indices:
    """The indices at which a new pixel column begins, 0 first.

    What lies outside the view counts as columns too.

    The columns begin and end at `edges`, shape (columns + 1,).
    """
    starts = np.concatenate(([0], x.searchsorted(edges, side="left")))
    new = np.append(True, np.diff(starts) > 0)
    return starts[new & (starts < len(x))]


def _first_equal(y: Array, wanted: Array, starts: Indices, counts: Indices) -> Indices:
    """For each block the index of its first value that equals the block's entry in `wanted`."""
    hits = np.flatnonzero(y == np.repeat(wanted, counts))
    return hits.take(hits.searchsorted(starts, side="left"))


WORTH: Final = 192
"""Points in a column from which on blocks are looked at.

A few are sooner compared than found in blocks.
"""


@dataclass(frozen=True, slots=True, eq=False)
class CurvePart:
    """The points from number `low` to before `high` of a curve, with sorted `times`.

    `times` and `values` have the shape (points,).

    `pyramid` holds blocks over all of the points, if there are any.
    """

    times: Array
    values: Array
    pyramid: Pyramid | None
    low: int
    high: int

    def places(self, start: float, end: float) -> tuple[int, int]:
        """Where the points from `start` to `end` begin and end, with one more on either side."""
        first = int(self.times.searchsorted(start, side="left")) - 1
        last = int(self.times.searchsorted(end, side="right")) + 1
        return min(max(first, self.low), self.high), min(max(last, self.low), self.high)

    def candidates(self, edges: Array) -> Curve:
        """Finite points in view, with both ends and the lowest and highest of each column."""
        first, last = self.places(float(edges[0]), float(edges[-1]))
        if self.pyramid is None or last - first < WORTH * len(edges):
            return finite_points(self.times[first:last], self.values[first:last])
        cuts = first + self.times[first:last].searchsorted(edges, side="left")
        kept = self.pyramid.extremes(self.values, first, last, cuts)
        return finite_points(self.times[kept], self.values[kept])

    def missing(self, start: float, end: float) -> Array:
        """When values in view were no numbers, shape (values,)."""
        first, last = self.places(start, end)
        if self.pyramid is None:
            return self.times[first:last][~np.isfinite(self.values[first:last])]
        return self.times[self.pyramid.missing(self.values, first, last)]


def spliced(
    times: Array, values: Array, pyramid: Pyramid | None, near: Near | None
) -> list[CurvePart]:
    """The parts of a curve in their order, with `near` in place of the curve's own points there."""
    if near is None:
        return [CurvePart(times, values, pyramid, 0, len(times))]
    first, last = near.ends(times)
    x, y = near.drawn
    return [
        CurvePart(times, values, pyramid, 0, first),
        CurvePart(x, y, None, 0, len(x)),
        CurvePart(times, values, pyramid, last, len(times)),
    ]


_NOTHING: Array = np.empty(0)


def extremes(part: CurvePart, edges: Array) -> Curve:
    """Each column's lowest and highest point, the last of all, and the whole curve's first."""
    return extremes_between(*part.candidates(edges), edges, first=part.low == 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Full:
    """The results of all columns before number `column`, which hold the first `done` points.

    `edges`, shape (column + 1,), are those of these columns: later ones may move.
    """

    edges: Array
    of: tuple[object, int] | None = None
    done: int = 0
    curve: Curve = (_NOTHING, _NOTHING)

    @property
    def column(self) -> int:
        """The number of the first column that is not full."""
        return max(len(self.edges) - 1, 0)

    def is_of(self, of: tuple[object, int], edges: Array) -> bool:
        """Whether these are the first columns between `edges` of this curve."""
        return of == self.of and np.array_equal(edges[: len(self.edges)], self.edges)


class Remembered:
    """Finds the extremes in the columns of a curve that grows only at its end.

    Full columns are searched once. Edges behind them may move: while a run is trained, all steps
    to come are due at once, which is a bit later each time.
    """

    def __init__(self) -> None:
        self._full = _Full(_NOTHING)

    def curve(self, part: CurvePart, edges: Array) -> Curve:
        """The extremes of the columns between `edges`.

        Edges are seconds since 1970, sorted, shape (columns + 1,).
        """
        if part.pyramid is None:
            return extremes(part, edges)
        of = part.pyramid, part.pyramid.layout
        if not self._full.is_of(of, edges):
            self._full = _Full(_NOTHING, of)
        full = self._full
        found = replace(part, low=full.done).candidates(edges[full.column :])
        # Where full columns hold no number, the curve begins only behind them.
        first = part.low == 0 and not len(full.curve[0])
        rest = extremes_between(*found, edges[full.column :], first=first)
        x, y = (np.concatenate(each) for each in zip(full.curve, rest, strict=True))
        settled = min(part.pyramid.settled, part.high)
        if not settled or not len(x):
            return x, y
        # The column of the last point stays open, even if the values after it are not numbers.
        last = min(float(part.times[settled - 1]), float(x[-1]))
        column = int(edges.searchsorted(last, side="left")) - 1
        if column > full.column:
            end = int(x.searchsorted(edges[column], side="left"))
            done = int(part.times[:settled].searchsorted(edges[column], side="left"))
            self._full = _Full(edges[: column + 1].copy(), of, done, (x[:end], y[:end]))
        return x, y


_BLOCK: Final = 64
"""Points that one product of matrices averages.

More would take longer each, fewer make more of them.
"""
_LEAST: Final = math.log(1e-17)


def smooth(y: Array, weight: float) -> Array:
    """Average `y`, shape (points,); `weight`, 0 (no smoothing) to below 1, is the past's share.

    As TensorBoard does it: the exponential moving average s_t = w s_{t-1} + (1 - w) y_t, divided by
    1 - w^t, without the bias towards its start (Kingma and Ba 2014, "Adam", section 3). What is no
    number stays so, and does not count.
    """
    return _values(averages(y, weight), y) if weight > 0 else y


def averages(y: Array, weight: float, before: tuple[float, float] = (0.0, 0.0)) -> Array:
    """The sums of the past and their shares, shape (2, points).

    `before` are those of the point before the first.

    The average is their quotient. Of what is no number they are those of the point before.
    """
    finite = np.isfinite(y)
    if finite.all():
        return _averages(y, weight, before)
    known = np.concatenate(
        (np.array(before)[:, np.newaxis], _averages(y[finite], weight, before)), axis=1
    )
    return known[:, np.cumsum(finite)]


def _averages(y: Array, weight: float, before: tuple[float, float]) -> Array:
    past, share = before
    found = np.ones((2, len(y)))
    found[0] = _sums(y, weight, past)
    # After this many points a weight no longer changes any digit of 1, and takes long to compute.
    felt = min(len(y), math.ceil(_LEAST / math.log(weight))) if weight > 0 else 1
    found[1, :felt] -= (1 - share) * weight ** np.arange(1, felt + 1)
    return found


def _sums(y: Array, weight: float, past: float) -> Array:
    """The sums of the past: each block times the weights within it, and what came before."""
    blocks = -(-len(y) // _BLOCK)
    rows = np.zeros((blocks, _BLOCK))
    rows.ravel()[: len(y)] = y
    distance = np.subtract.outer(np.arange(_BLOCK), np.arange(_BLOCK))
    sums = rows @ np.where(distance >= 0, (1 - weight) * weight ** np.maximum(distance, 0), 0.0).T
    carried, before = np.empty(blocks), past
    whole = weight**_BLOCK
    for number, last in enumerate(sums[:, -1].tolist()):
        carried[number] = before
        before = last + whole * before
    sums += np.outer(carried, weight ** np.arange(1, _BLOCK + 1))
    flat: Array = sums.ravel()[: len(y)]
    return flat


def _values(found: Array, y: Array) -> Array:
    quotient: Array = np.divide(
        found[0], found[1], out=np.full(len(y), np.nan), where=np.isfinite(y) & (found[1] > 0)
    )
    return quotient


class Average:
    """The average of a curve that grows at its end: what has settled is averaged once."""

    def __init__(self) -> None:
        self.pyramid = Pyramid()
        """Blocks over what was averaged last and has settled."""
        self._of: object = None
        self._done = 0
        self._found = np.empty((2, 0))
        self._values = np.empty(0)

    def of(
        self, y: Array, weight: float, *, thinned: tuple[int, float], settled: int, version: object
    ) -> Array:
        """The averages of all of `y`; the first `settled` stay until `version` changes.

        `y` and the result have the shape (points,).

        `thinned`: so many of the oldest points stand for so many steps each. The next call may
        write into the result.
        """
        version = (version, weight, thinned)
        if version != self._of:
            self._of, self._done = version, 0
            self.pyramid.cut(0)
        self._reserve(len(y))
        new = slice(self._done, len(y))
        self._found[:, new] = self._averages(y, weight, thinned)
        self._values[new] = _values(self._found[:, new], y[new])
        self._done = min(settled, len(y))
        self.pyramid.settle(self._done, len(y))
        return self._values[: len(y)]

    def going_on(self, y: Array, weight: float, place: int) -> Array:
        """The averages of other points `y` that replace the curve's from number `place` on."""
        return _values(averages(y, weight, self._before(min(place, self._done))), y)

    def _averages(self, y: Array, weight: float, thinned: tuple[int, float]) -> Array:
        done, (count, steps) = self._done, thinned
        before = self._before(done)
        coarse = averages(y[done:count], weight**steps, before)
        if coarse.shape[1]:
            before = (float(coarse[0, -1]), float(coarse[1, -1]))
        return np.concatenate((coarse, averages(y[max(done, count) :], weight, before)), axis=1)

    def _before(self, place: int) -> tuple[float, float]:
        return (
            (float(self._found[0, place - 1]), float(self._found[1, place - 1]))
            if place
            else (0.0, 0.0)
        )

    def _reserve(self, points: int) -> None:
        if points > len(self._values):
            more = max(points, 2 * len(self._values)) - len(self._values)
            self._found, self._values = (
                np.pad(self._found, ((0, 0), (0, more))),
                np.pad(self._values, (0, more)),
            )
