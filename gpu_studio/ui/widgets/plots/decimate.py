"""Fewer points, same picture: of the points that fall on one pixel column only the lowest and the highest are drawn.

The idea is that of Jugel, Jerzak, Hackenbroich and Markl, "M4: A Visualization-Oriented Time Series Data Aggregation"
(VLDB 2014), with two points a column instead of four: what is lost is at most the slope inside one pixel.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Curve = tuple[Array, Array]


def decimate(x: Array, y: Array, start: float, end: float, columns: int) -> Curve:
    """Of the points (x, y) the lowest and the highest in each pixel column, in their order, and both ends.

    The view from `start` to `end` is `columns` (1 or more) pixels wide; `x` is sorted and as long as `y`. Values that
    are not finite are left out. At most `2 * columns + 2` points are left of those inside the view.
    """
    return two_a_column(*finite_points(x, y), np.linspace(start, end, columns + 1))


def finite_points(x: Array, y: Array) -> Curve:
    """The points whose value is finite."""
    finite = np.isfinite(y)
    return (x, y) if finite.all() else (x[finite], y[finite])


def two_a_column(x: Array, y: Array, edges: Array) -> Curve:
    """The same of finite points, where the columns begin and end at `edges`, sorted and of the shape (columns + 1,)."""
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
    """The points from `start` to `end`, and one on either side, so that the line runs out of the picture."""
    first = max(int(np.searchsorted(x, start, side="left")) - 1, 0)
    last = int(np.searchsorted(x, end, side="right")) + 1
    return x[first:last], y[first:last]


def column_starts(x: Array, edges: Array) -> Indices:
    """The indices at which a new pixel column begins, 0 first; what lies outside the view counts as columns too.

    The columns begin and end at `edges`, shape (columns + 1,).
    """
    starts = np.concatenate(([0], np.searchsorted(x, edges, side="left")))
    new = np.append(True, np.diff(starts) > 0)
    return starts[new & (starts < len(x))]


def _first_equal(y: Array, wanted: Array, starts: Indices, counts: Indices) -> Indices:
    """For each block the index of its first value that equals the block's entry in `wanted`."""
    hits = np.flatnonzero(y == np.repeat(wanted, counts))
    return hits.take(np.searchsorted(hits, starts, side="left"))
