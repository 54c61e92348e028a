"""One curve of a plot: made once, fed often."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor, QPen

from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.plots.decimate import Array, Curve, decimate_between, visible
from gpu_studio.ui.widgets.plots.scale import Scale
from gpu_studio.ui.widgets.plots.sight import Flags, Sight
from gpu_studio.ui.widgets.plots.smooth import column_means, smooth

Colour = Callable[[Tokens], str]

_NOTHING: Array = np.empty(0)
_DOT = 5.0
# Dots nearer to each other than this would be a caterpillar.
_PIXELS_PER_DOT = 8
_SMOOTH_COLUMN_PIXELS = 3
_WARM_UP_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class Style:
    """How a curve looks: its colour in a theme, its dash in pen widths, and whether its points are dotted."""

    colour: Colour
    dash: tuple[int, ...] = ()
    dots: bool = False

    def pen(self, tokens: Tokens, width: float) -> QPen:
        """The pen, `width` device pixels wide at any zoom. One of 1 is drawn many times faster than a wider one."""
        pen = QPen(QColor(self.colour(tokens)), width)
        pen.setCosmetic(True)
        if self.dash:
            pen.setDashPattern([float(part) for part in self.dash])
        return pen


class PlotCurve:
    """A series over time, and the items that draw it. Its times count from wherever `origin`, the run's start, does.

    The line is broken where nothing is known for longer than `longest_gap` seconds, and with `breaks` where a value is
    no number. It goes when all of the names that it `belongs` to are hidden. In a table its column is called `heading`;
    without one it has none there.
    """

    def __init__(self, style: Style) -> None:
        self.style = style
        self.smoothing = 0.0
        self.longest_gap = math.inf
        self.breaks = False
        self.belongs: frozenset[str] = frozenset()
        self.heading = ""
        self.left_out = False
        self._times, self._values, self._origin = _NOTHING, _NOTHING, 0.0
        self._line = pg.PlotCurveItem(connect="all", antialias=False, skipFiniteCheck=True)
        self._dots = pg.ScatterPlotItem(size=_DOT, pxMode=True, pen=None) if style.dots else None

    @property
    def items(self) -> list[pg.GraphicsObject]:
        """What has to be put into the plot."""
        return [self._line] if self._dots is None else [self._line, self._dots]

    @property
    def shown(self) -> bool:
        """Whether it is drawn at all."""
        return bool(self._line.isVisible())

    @property
    def series(self) -> tuple[Array, Array]:
        """Its times in seconds since 1970, shape (points,), and as many values."""
        return self._times, self._values

    @property
    def strokes(self) -> tuple[Array, Array, Flags]:
        """What was drawn last: places and heights, shape (points,), and whether each is joined to the one after it."""
        x, y = (_NOTHING, _NOTHING) if self._line.xData is None else self._line.getData()
        connect = self._line.opts["connect"]
        return x, y, np.ones(len(x), dtype=np.bool_) if isinstance(connect, str) else connect.astype(np.bool_)

    @property
    def dotted(self) -> bool:
        """Whether dots were drawn last."""
        return self._dots is not None and len(self._dots.getData()[0]) > 0

    def show(self, shown: bool) -> None:
        """Draw it, or not; nothing is drawn anew by that."""
        if shown != self.shown:
            for item in self.items:
                item.setVisible(shown)

    def set_tokens(self, tokens: Tokens, width: float = 1.0) -> None:
        """Wear the colours of this theme, in lines of `width` device pixels."""
        self._line.setPen(self.style.pen(tokens, width))
        if self._dots is not None:
            self._dots.setBrush(QColor(self.style.colour(tokens)))

    def set_series(self, times: Array, values: Array, origin: float) -> None:
        """Take sorted times, shape (points,), and as many values. The arrays are read when the curve is drawn."""
        self._times, self._values, self._origin = times, values, origin

    def forget(self) -> None:
        """Have no points."""
        self.set_series(_NOTHING, _NOTHING, 0.0)

    def draw(self, sight: Sight, scale: Scale) -> tuple[float, float] | None:
        """Draw what is in sight. Returns its lowest and highest height, if any. `left_out`: a value had no height."""
        x, y = self._thinned(sight)
        heights = scale.heights(y)
        drawable = np.isfinite(heights)
        self.left_out = len(heights) > 0 and not bool(drawable.all())
        x, heights = x[drawable], heights[drawable]
        connect = self._connections(x, sight)
        places = sight.ruler.places(x - self._origin)
        self._line.setData(places, heights, connect=connect)
        self._draw_dots(places, heights, sight.columns)
        inside = heights[sight.shows(places)]
        if not len(inside) and _passes(places, sight):
            inside = np.interp((sight.window.start, sight.window.end), places, heights)
        return (float(inside.min()), float(inside.max())) if len(inside) else None

    def _connections(self, x: Array, sight: Sight) -> Any:
        joined = np.ones(max(len(x) - 1, 0), dtype=np.bool_)
        if math.isfinite(self.longest_gap):
            column = float(sight.edges[-1] - sight.edges[0]) / sight.columns
            joined &= np.diff(x) <= max(self.longest_gap, 2 * column)
        if self.breaks and len(missing := self._missing(sight)):
            passed = np.searchsorted(missing, x)
            joined &= np.diff(passed) == 0
        return "all" if joined.all() else np.append(joined, False).astype(np.int32)

    def _missing(self, sight: Sight) -> Array:
        """When values in sight were no numbers."""
        times, values = self._seen(sight.edges)
        return times[~np.isfinite(values)]

    def _seen(self, edges: Array) -> Curve:
        return visible(self._times, self._values, float(edges[0]) + self._origin, float(edges[-1]) + self._origin)

    def _thinned(self, sight: Sight) -> Curve:
        if self.smoothing > 0:
            return self._smoothed(sight)
        return decimate_between(*self._seen(sight.edges), sight.edges + self._origin)

    def _smoothed(self, sight: Sight) -> Curve:
        # The average is begun some columns before the view, so that it does not depend on where the view begins.
        edges = sight.split(max(sight.columns // _SMOOTH_COLUMN_PIXELS, 1), _WARM_UP_COLUMNS) + self._origin
        x, y = column_means(*self._seen(edges - self._origin), edges)
        start, end = sight.edges[[0, -1]] + self._origin
        return visible(x, smooth(y, self.smoothing), float(start), float(end))

    def _draw_dots(self, x: Array, y: Array, columns: int) -> None:
        if self._dots is not None:
            sparse = len(x) * _PIXELS_PER_DOT <= columns
            self._dots.setData(x=x, y=y) if sparse else self._dots.clear()


def _passes(places: Array, sight: Sight) -> bool:
    """Whether a line runs through the window without a point in it."""
    return len(places) > 1 and bool(places[0] <= sight.window.start and places[-1] >= sight.window.end)
