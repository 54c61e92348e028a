"""What the pixel columns of a growing curve came to: while the window stands, only what is new is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpu_studio.ui.widgets.plots.decimate import Array, Curve, extremes_between
from gpu_studio.ui.widgets.plots.part import Part

_NOTHING: Array = np.empty(0)


def extremes(part: Part, edges: Array) -> Curve:
    """The lowest and the highest point of each column, the last of all, and the first of the whole curve."""
    return extremes_between(*part.candidates(edges), edges, first=part.low == 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Full:
    """What came of the columns before the one numbered `column`, which all of the first `done` points lie in."""

    edges: Array
    of: tuple[object, int] | None = None
    column: int = 0
    done: int = 0
    curve: Curve = (_NOTHING, _NOTHING)


class Remembered:
    """Finds the extremes in the columns of a curve that is told to grow only at its end, in the full ones once.

    What comes of it is the same as if it remembered nothing.
    """

    def __init__(self) -> None:
        self._full = _Full(_NOTHING)

    def curve(self, part: Part, edges: Array) -> Curve:
        """What the columns between `edges` (seconds since 1970, sorted, shape (columns + 1,)) come to."""
        if part.pyramid is None:
            return extremes(part, edges)
        of = part.pyramid, part.pyramid.layout
        if of != self._full.of or not np.array_equal(edges, self._full.edges):
            self._full = _Full(edges, of)
        full = self._full
        rest = extremes(replace(part, low=full.done), edges[full.column :])
        x, y = (np.concatenate(each) for each in zip(full.curve, rest, strict=True))
        settled = min(part.pyramid.settled, part.high)
        if not settled or not len(x):
            return x, y
        # The column of the last point stays open, also where what came after it is no number.
        column = int(np.searchsorted(edges, min(float(part.times[settled - 1]), float(x[-1])), side="right")) - 1
        if column > full.column:
            end = int(np.searchsorted(x, edges[column], side="left"))
            done = int(np.searchsorted(part.times[:settled], edges[column], side="left"))
            self._full = replace(full, column=column, done=done, curve=(x[:end], y[:end]))
        return x, y
