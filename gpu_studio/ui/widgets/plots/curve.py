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
from gpu_studio.ui.widgets.plots.decimate import Array, Curve, decimate, visible
from gpu_studio.ui.widgets.plots.scale import Scale
from gpu_studio.ui.widgets.plots.smooth import column_means, smooth
from gpu_studio.ui.widgets.plots.time_window import TimeWindow

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

    The line is broken where nothing is known for longer than `longest_gap` seconds.
    """

    def __init__(self, style: Style) -> None:
        self.style = style
        self.smoothing = 0.0
        self.longest_gap = math.inf
        self._times, self._values, self._origin = _NOTHING, _NOTHING, 0.0
        self._line = pg.PlotCurveItem(connect="all", antialias=False, skipFiniteCheck=True)
        self._dots = pg.ScatterPlotItem(size=_DOT, pxMode=True, pen=None) if style.dots else None

    @property
    def items(self) -> list[pg.GraphicsObject]:
        """What has to be put into the plot."""
        return [self._line] if self._dots is None else [self._line, self._dots]

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

    def draw(self, window: TimeWindow, columns: int, scale: Scale) -> tuple[float, float] | None:
        """Draw what falls in the window, `columns` pixels wide. Returns its lowest and highest height, if any."""
        x, y = self._thinned(window, columns)
        heights = scale.heights(y)
        drawable = np.isfinite(heights)
        x, heights = x[drawable] - self._origin, heights[drawable]
        self._line.setData(x, heights, connect=self._connections(x, window.span / columns))
        self._draw_dots(x, heights, columns)
        inside = heights[(x >= window.start) & (x <= window.end)]
        return (float(inside.min()), float(inside.max())) if len(inside) else None

    def _connections(self, x: Array, column: float) -> Any:
        if not math.isfinite(self.longest_gap):
            return "all"
        near = np.diff(x) <= max(self.longest_gap, 2 * column)
        return "all" if near.all() else np.append(near, False).astype(np.int32)

    def _thinned(self, window: TimeWindow, columns: int) -> Curve:
        start, end = window.start + self._origin, window.end + self._origin
        if self.smoothing > 0:
            return self._smoothed(start, end, max(columns // _SMOOTH_COLUMN_PIXELS, 1))
        return decimate(*visible(self._times, self._values, start, end), start, end, columns)

    def _smoothed(self, start: float, end: float, columns: int) -> Curve:
        # The average is begun some columns before the view, so that it does not depend on where the view begins.
        early = start - (end - start) * _WARM_UP_COLUMNS / columns
        x, y = visible(self._times, self._values, early, end)
        x, y = column_means(x, y, early, end, columns + _WARM_UP_COLUMNS)
        return visible(x, smooth(y, self.smoothing), start, end)

    def _draw_dots(self, x: Array, y: Array, columns: int) -> None:
        if self._dots is not None:
            sparse = len(x) * _PIXELS_PER_DOT <= columns
            self._dots.setData(x=x, y=y) if sparse else self._dots.clear()
