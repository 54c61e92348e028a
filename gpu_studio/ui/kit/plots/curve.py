"""One curve of a plot, created once; it is fed often, or follows a series that grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPainterPath, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsPathItem,
)

from gpu_studio.runs.reading.pyramid import Pyramid
from gpu_studio.runs.reading.series import Array, Near, Series
from gpu_studio.ui.kit.plots.axes import LINEAR, Ruler, Scale
from gpu_studio.ui.kit.plots.curve_item import CurveItem
from gpu_studio.ui.kit.plots.reduce import (
    Average,
    AxisView,
    Curve,
    CurvePart,
    Flags,
    Remembered,
    spliced,
    two_a_column,
    visible,
)
from gpu_studio.ui.kit.theme import Tokens

Colour = Callable[[Tokens], str]

_NOTHING: Array = np.empty(0)
_DOT = 5.0
_OPACITY, _BEHIND = 0.14, -1.0
_START, _ENOUGH, _FAR, _AIR = 0.05, 20, 3.0, 0.1
"""The first steps are so large a part of the axis; they stand far above at least so many other
points if they make the axis so many times as high as these need, which are then given so much
air."""
_FARTHEST = 1e300
"""A height beyond it is drawn there: the span of an axis has to be a number, too."""
# Dots closer to each other than this would merge into a thick line.
_PIXELS_PER_DOT = 8


@dataclass(frozen=True, slots=True)
class Style:
    """How a curve looks: its colour in a theme, its dash in pen widths, and dots at its points.

    Without a `line` it is only the edge of a band.
    """

    colour: Colour
    dash: tuple[int, ...] = ()
    dots: bool = False
    line: bool = True

    def pen(self, tokens: Tokens, width: float) -> QPen:
        """The pen, `width` device pixels wide at any zoom.

        One of 1 is drawn many times faster than a wider one.
        """
        if not self.line:
            return QPen(Qt.PenStyle.NoPen)
        pen = QPen(QColor(self.colour(tokens)), width)
        pen.setCosmetic(True)
        if self.dash:
            pen.setDashPattern([float(part) for part in self.dash])
        return pen

    def filling(self, tokens: Tokens) -> QBrush:
        """What a band under the curve is filled with: what lies behind shines through."""
        colour = QColor(self.colour(tokens))
        colour.setAlphaF(_OPACITY)
        return QBrush(colour)


class PlotCurve:
    """A series over time, and the items that draw it.

    Its times count from wherever `origin`, the run's start, does.

    The line is broken where nothing is known for longer than `longest_gap` seconds, and with
    `breaks` where a value is no number. It goes when all of the names that it `belongs` to are
    hidden. In a table its column is called `heading`; without one it has none there. Where it
    `forgives_the_start`, a run's first steps do not rule the axis; `beyond` is how high they reach
    above it then, else minus infinity. Down to the curve `down_to`, if there is one, a band is
    filled; that curve has to be drawn before.
    """

    def __init__(self, style: Style) -> None:
        self.style = style
        self.smoothing = 0.0
        self.longest_gap = math.inf
        self.breaks = False
        self.belongs: frozenset[str] = frozenset()
        self.heading = ""
        self.left_out = False
        self.forgives_the_start = False
        self.beyond = -math.inf
        self.down_to: PlotCurve | None = None
        self._band: QGraphicsPathItem | None = None
        self._times, self._values, self._origin = _NOTHING, _NOTHING, 0.0
        self._followed: Series | None = None
        self._pyramid: Pyramid | None = None
        self._near: Near | None = None
        self._coarse = (0, 1.0)
        self._average = Average()
        self._extremes, self._of_averages = Remembered(), Remembered()
        self._drawn: tuple[object, ...] = ()
        self._range: tuple[float, float] | None = None
        self._line = CurveItem()
        self._dots = pg.ScatterPlotItem(size=_DOT, pxMode=True, pen=None) if style.dots else None

    @property
    def items(self) -> list[QGraphicsItem]:
        """What has to be put into the plot."""
        return [each for each in (self._line, self._dots, self._band) if each is not None]

    @property
    def shown(self) -> bool:
        """Whether it is drawn at all."""
        return bool(self._line.isVisible())

    @property
    def series(self) -> tuple[Array, Array]:
        """Its times in seconds since 1970 and as many values, shape (points,) each.

        `near` replaces a part of it by what is known point by point.
        """
        self._take_in()
        parts = self._parts()
        if len(parts) == 1:
            return self._times, self._values
        times, values = zip(
            *(
                (part.times[part.low : part.high], part.values[part.low : part.high])
                for part in parts
            ),
            strict=True,
        )
        return np.concatenate(times), np.concatenate(values)

    @property
    def strokes(self) -> tuple[Array, Array, Flags]:
        """What was drawn last.

        Places and heights, shape (points,), and whether each is joined to the one after it.
        """
        return self._line.strokes

    @property
    def dots(self) -> int:
        """How many dots were drawn last."""
        return 0 if self._dots is None else len(self._dots.getData()[0])

    def show(self, shown: bool) -> None:
        """Draw it, or not; nothing is drawn anew by that."""
        if shown != self.shown:
            for item in self.items:
                item.setVisible(shown)
            self._show_dots()

    def set_tokens(self, tokens: Tokens, width: float = 1.0) -> None:
        """Wear the colours of this theme, in lines of `width` device pixels."""
        self._line.set_pen(self.style.pen(tokens, width))
        if self._band is not None:
            self._band.setBrush(self.style.filling(tokens))
        if self._dots is not None:
            self._dots.setBrush(QColor(self.style.colour(tokens)))

    def set_series(self, times: Array, values: Array, origin: float) -> None:
        """Take sorted times, shape (points,), and as many values.

        The arrays are read when the curve is drawn.
        """
        self._followed = None
        self._times, self._values, self._origin = times, values, origin
        self._pyramid, self._near, self._coarse = None, None, (0, 1.0)

    def follow(self, series: Series, origin: float) -> None:
        """Draw what is in `series` whenever it is drawn from now on.

        A long one is drawn without a look at every point, and what is near of it, point by point.
        """
        self._followed, self._origin = series, origin

    @property
    def grown(self) -> bool:
        """Whether the series that it follows has come to something that was not drawn yet."""
        if (series := self._followed) is None or not self.shown:
            return False
        return (series.pyramid, series.total, series.near) != self._drawn[:3]

    def _take_in(self) -> None:
        """Take the series that it follows, if any, as it is now: what was taken may have moved."""
        series = self._followed
        if series is not None:
            self._times, self._values = series.x, series.y
            self._pyramid, self._near, self._coarse = series.pyramid, series.near, series.thinned

    def forget(self) -> None:
        """Have no points."""
        self.set_series(_NOTHING, _NOTHING, 0.0)

    def draw(self, view: AxisView, scale: Scale) -> tuple[float, float] | None:
        """Draw what is in view. Returns its lowest and highest height, if any.

        `left_out`: a value had no height.
        """
        return draw_all((self,), view, scale)[0]

    @property
    def range(self) -> tuple[float, float] | None:
        """The lowest and the highest height of what was drawn last, if any."""
        return self._range

    def _version(self, view: AxisView, scale: Scale) -> tuple[object, ...]:
        """What is drawn changes exactly with this, where a pyramid tells how much there is."""
        series = self._pyramid, self._pyramid.total if self._pyramid is not None else 0, self._near
        return (
            *series,
            view.window,
            view.columns,
            view.ruler,
            scale,
            self.smoothing,
            self._origin,
            self.longest_gap,
        )

    def take(self, view: AxisView, scale: Scale) -> tuple[Array, Array, Flags] | None:
        """What `put` is to draw of the view; None if that is drawn already.

        The moments in seconds after the run's start and the heights, shape (points,), and whether
        each point is joined to the one after it.
        """
        self._take_in()
        wanted = self._version(view, scale)
        if self._pyramid is not None and wanted == self._drawn:
            return None
        self._drawn = wanted
        x, y = self._thinned(view)
        heights = scale.heights(y)
        drawable = np.isfinite(heights)
        self.left_out = len(heights) > 0 and not bool(drawable.all())
        # A copy in any case: the series goes on in the same memory.
        x, heights = x[drawable], heights[drawable].clip(-_FARTHEST, _FARTHEST)
        return x - self._origin, heights, self._joined(x, view)

    def put(
        self, places: Array, heights: Array, joined: Flags, view: AxisView, scale: Scale
    ) -> None:
        """Draw these points from now on."""
        self._line.set_strokes(places, heights, joined)
        self._draw_dots(places, heights, view)
        self._draw_band()
        inside = np.concatenate(
            (heights[view.shows(places)], _at_edges(places, heights, joined, view))
        )
        if not len(inside):
            self._range = None
            return
        low, high = float(inside.min()), float(inside.max())
        ceiling = (
            _ceiling(places, heights, view)
            if self.forgives_the_start and scale is LINEAR
            else math.inf
        )
        self.beyond = high if high > ceiling else -math.inf
        self._range = low, min(high, ceiling)

    def enclose(self, lower: PlotCurve, tokens: Tokens) -> QGraphicsPathItem:
        """Fill a band down to this curve from now on; returns what has to be put into the plot."""
        self.down_to = lower
        self._band = QGraphicsPathItem()
        self._band.setPen(QPen(Qt.PenStyle.NoPen))
        self._band.setBrush(self.style.filling(tokens))
        self._band.setZValue(_BEHIND)
        return self._band

    @property
    def outline(self) -> list[tuple[Array, Array]]:
        """The pieces of the band that was drawn last: places and heights around each, closed."""
        if self.down_to is None:
            return []
        (x, y, joined), (below, least, _) = self.strokes, self.down_to.strokes
        if not len(below):
            return []
        inside = (x >= below[0]) & (x <= below[-1])
        floor = np.interp(x, below, least)
        cuts = np.flatnonzero(~joined[:-1] | ~inside[:-1] | ~inside[1:]) + 1
        return [
            (np.concatenate((x[part], x[part][::-1])), np.concatenate((y[part], floor[part][::-1])))
            for part in np.split(np.arange(len(x)), cuts)
            if len(part) > 1
        ]

    def _draw_band(self) -> None:
        if self._band is not None:
            path = QPainterPath()
            for places, heights in self.outline:
                path.addPath(pg.arrayToQPath(places, heights, connect="all", finiteCheck=False))
            self._band.setPath(path)

    def _joined(self, x: Array, view: AxisView) -> Flags:
        """Which of the points are joined to the one after them."""
        joined = np.ones(len(x), dtype=np.bool_)
        if math.isfinite(self.longest_gap):
            column = float(view.edges[-1] - view.edges[0]) / view.columns
            joined[:-1] &= np.diff(x) <= max(self.longest_gap, 2 * column)
        if self.breaks and len(missing := self._missing(view)):
            passed = missing.searchsorted(x)
            joined[:-1] &= np.diff(passed) == 0
        return joined

    def _missing(self, view: AxisView) -> Array:
        """When values in view were no numbers."""
        start, end = (view.edges[[0, -1]] + self._origin).tolist()
        return np.concatenate([part.missing(start, end) for part in self._parts()])

    def _parts(self) -> list[CurvePart]:
        return spliced(self._times, self._values, self._pyramid, self._near)

    def _thinned(self, view: AxisView) -> Curve:
        """The steps are smoothed, then thinned.

        Neither the width of the plot nor the zoom changes a smooth curve.
        """
        smooth = self.smoothing > 0
        parts, remembered = (
            (self._averaged(), self._of_averages) if smooth else (self._parts(), self._extremes)
        )
        edges = view.edges + self._origin
        if len(parts) == 1 and _count(parts[0], edges) > 2 * view.columns:
            return remembered.curve(parts[0], edges)
        return two_a_column(*_joined([part.candidates(edges) for part in parts], edges), edges)

    def _averaged(self) -> list[CurvePart]:
        """The moving average at each point, what is near point by point."""
        pyramid, near = self._pyramid, self._near
        settled, version = (
            (0, object()) if pyramid is None else (pyramid.settled, (id(pyramid), pyramid.layout))
        )
        values = self._average.of(
            self._values, self.smoothing, thinned=self._coarse, settled=settled, version=version
        )
        parts = spliced(self._times, values, self._average.pyramid, near)
        if near is not None:
            first, _ = near.ends(self._times)
            close = self._average.going_on(parts[1].values, self.smoothing, first)
            parts[1] = replace(parts[1], values=close)
        return parts

    def _draw_dots(self, x: Array, y: Array, view: AxisView) -> None:
        if self._dots is not None:
            pixels = float(x[-1] - x[0]) / view.window.span * view.columns if len(x) else 0.0
            sparse = (len(x) - 1) * _PIXELS_PER_DOT <= pixels
            self._dots.setData(x=x, y=y) if sparse else self._dots.clear()
            self._show_dots()

    def _show_dots(self) -> None:
        """Where there are none, their item costs nothing in a frame."""
        if self._dots is not None:
            self._dots.setVisible(self.shown and self.dots > 0)


def draw_all(
    curves: Sequence[PlotCurve], view: AxisView, scale: Scale
) -> list[tuple[float, float] | None]:
    """Draw what is in view of each curve, in this order. Returns their ranges of heights.

    The ruler is asked once for the places of all of their points.
    """
    taken = [(curve, found) for curve in curves if (found := curve.take(view, scale)) is not None]
    places, begin = _places([moments for _, (moments, _, _) in taken], view.ruler), 0
    for curve, (own, heights, joined) in taken:
        curve.put(places[begin : begin + len(own)], heights, joined, view, scale)
        begin += len(own)
    return [curve.range for curve in curves]


def _places(moments: list[Array], ruler: Ruler) -> Array:
    """The places of all of these moments, one array behind the other.

    They are looked up in order, which among the steps of a long run takes a third of the time:
    what one look-up has read is still at hand in the next.
    """
    if not moments:
        return _NOTHING
    together = np.concatenate(moments)
    order = together.argsort(kind="stable")
    places = np.empty(len(together))
    places[order] = ruler.places(together[order])
    return places


def _at_edges(places: Array, heights: Array, joined: Flags, view: AxisView) -> Array:
    """The heights at which the line runs into the window and out of it, shape (0 to 2,)."""
    if len(places) < 2:
        return _NOTHING
    edges = np.array((view.window.start, view.window.end))
    crossed = edges[(edges > places[0]) & (edges < places[-1])]
    crossed = crossed[joined[places.searchsorted(crossed) - 1]]
    return np.asarray(np.interp(crossed, places, heights))


def _ceiling(places: Array, heights: Array, view: AxisView) -> float:
    """Up to where the axis goes if a run's first steps in view stand far above the rest."""
    rest = heights[
        (places > view.window.start + _START * view.window.span) & (places <= view.window.end)
    ]
    if places[0] < view.window.start or len(rest) < _ENOUGH:
        return math.inf
    low, high = float(rest.min()), float(rest.max())
    return high + _AIR * (high - low) if heights.max() - low > _FAR * (high - low) else math.inf


def _count(part: CurvePart, edges: Array) -> int:
    """How many points are in view."""
    first, last = part.places(float(edges[0]), float(edges[-1]))
    return last - first


def _joined(parts: list[Curve], edges: Array) -> Curve:
    """The parts behind each other, with one point at most on either side of the edges."""
    if len(parts) == 1:
        return parts[0]
    x, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    return visible(x, y, float(edges[0]), float(edges[-1]))
