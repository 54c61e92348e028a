"""A part of a curve, and what a picture needs of it: looked up in blocks where it is long, else in every point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpu_studio.runs.reading.pyramid import Pyramid
from gpu_studio.runs.reading.series import Near
from gpu_studio.ui.widgets.plots.decimate import Array, Curve, finite_points

WORTH: Final = 192
"""Points in a column from which on blocks are looked at: a few are sooner compared than found in blocks."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The points from number `low` to before `high` of sorted times, shape (points,), and as many values.

    `pyramid` holds blocks over all of the points, if there are any.
    """

    times: Array
    values: Array
    pyramid: Pyramid | None
    low: int
    high: int

    def places(self, start: float, end: float) -> tuple[int, int]:
        """Where the points from `start` to `end` begin and end, with one more on either side."""
        first = int(np.searchsorted(self.times, start, side="left")) - 1
        last = int(np.searchsorted(self.times, end, side="right")) + 1
        return min(max(first, self.low), self.high), min(max(last, self.low), self.high)

    def candidates(self, edges: Array) -> Curve:
        """Finite points in view, in order, with the lowest and highest of each column among them, and both ends."""
        first, last = self.places(float(edges[0]), float(edges[-1]))
        if self.pyramid is None or last - first < WORTH * len(edges):
            return finite_points(self.times[first:last], self.values[first:last])
        cuts = first + np.searchsorted(self.times[first:last], edges, side="left")
        kept = self.pyramid.extremes(self.values, first, last, cuts)
        return finite_points(self.times[kept], self.values[kept])

    def missing(self, start: float, end: float) -> Array:
        """When values in view were no numbers, shape (values,)."""
        first, last = self.places(start, end)
        if self.pyramid is None:
            return self.times[first:last][~np.isfinite(self.values[first:last])]
        return self.times[self.pyramid.missing(self.values, first, last)]


def spliced(times: Array, values: Array, pyramid: Pyramid | None, near: Near | None) -> list[Part]:
    """The parts of a curve, in their order: what is near in the place of what the curve has of that while."""
    if near is None:
        return [Part(times, values, pyramid, 0, len(times))]
    first, last = near.ends(times)
    x, y = near.drawn
    return [
        Part(times, values, pyramid, 0, first),
        Part(x, y, None, 0, len(x)),
        Part(times, values, pyramid, last, len(times)),
    ]
