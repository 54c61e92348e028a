"""A card with a plot over time: its title, the legend, options, and the curves.

`PlotPicture` draws the same canvas again at any size, in lines and letters, for a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import (
    QElapsedTimer,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QImage,
    QPainter,
    QPen,
    QPolygonF,
    QShowEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.runs.reading.series import Array, Series
from gpu_studio.ui.kit.basic_widgets import CardFrame, Label
from gpu_studio.ui.kit.picture_file import image_of, png_of, svg_of
from gpu_studio.ui.kit.plots.backdrop import Backdrop
from gpu_studio.ui.kit.plots.canvas import BOTTOM_WITH_TIMES, LEFT, TOP, Canvas
from gpu_studio.ui.kit.plots.curve import PlotCurve, Style
from gpu_studio.ui.kit.plots.gestures import HELP
from gpu_studio.ui.kit.plots.legend import Legend, LegendEntry, laid_out, paint_entry
from gpu_studio.ui.kit.plots.reduce import Flags
from gpu_studio.ui.kit.plots.time_view import TimeView
from gpu_studio.ui.kit.theme import GRID, ThemeManager, Tokens, font

_SOONEST_MS, _LATEST_MS = 200.0, 1000.0


class TimePlot(CardFrame):
    """Named curves over a shared time axis.

    `feed` gives a curve its points, `feed_series` one that grows by itself; `refresh` draws, if
    there is something new and the card can be seen: at most five times a second, and less often
    where a second is less than a pixel. Another window that was chosen is drawn at once; one that
    follows a growing axis is drawn by whoever has it grow.
    """

    def __init__(
        self,
        title: str,
        theme: ThemeManager,
        time: TimeView,
        parent: QWidget | None = None,
        *,
        nothing: str = "nothing in view",
    ) -> None:
        super().__init__("", parent)
        self.setAccessibleName(title)
        self.title = Label(title, "title")
        self.explain()
        self.canvas = Canvas(title, time, theme.tokens, self, nothing=nothing)
        self.legend = Legend(theme)
        self.options = QHBoxLayout()
        self.options.setSpacing(2)
        self._time = time
        self._curves: dict[str, PlotCurve] = {}
        self._stale = True
        self._since = QElapsedTimer()
        self._since.start()
        self.redraws = 0
        self._lay_out()
        theme.changed.connect(self._wear)
        time.window_chosen.connect(self.draw_soon)
        time.ruler_changed.connect(self.draw_soon)

    def _lay_out(self) -> None:
        self.body.setContentsMargins(2 * GRID - 2, GRID, 2 * GRID - 2, GRID - 2)
        self.body.setSpacing(2)
        self.header.setSpacing(2 * GRID)
        self.header.addWidget(self.title)
        self.header.addWidget(self.legend)
        self.header.addLayout(self.options, 1)
        self.body.addLayout(self.header)
        self.body.addWidget(self.canvas, 1)

    @property
    def names(self) -> list[str]:
        """The names of the curves."""
        return list(self._curves)

    def set_title(self, title: str) -> None:
        """Call the plot so."""
        self.title.setText(title)
        self.setAccessibleName(title)
        self.canvas.setAccessibleName(f"{title} over time")

    def explain(self, what: str | None = None) -> None:
        """Tell in the title's tooltip what is plotted, and what mouse and keys do."""
        self.title.setToolTip(f"{what}. {HELP}" if what else HELP)

    def add_curve(self, name: str, style: Style) -> PlotCurve:
        """Make the curve called `name`, once."""
        curve = self._curves[name] = self.canvas.add_curve(style)
        curve.belongs = frozenset({name})
        self._stale = True
        return curve

    def curve_called(self, name: str) -> PlotCurve:
        """The curve of this name. Raises KeyError if there is none."""
        return self._curves[name]

    def show_curves(self, styles: Mapping[str, Style]) -> None:
        """Show curves with these names and styles, from the backmost.

        Nothing is done if they are there already.
        """
        if list(styles.items()) != [(name, curve.style) for name, curve in self._curves.items()]:
            self._remove_curves()
            for name, style in styles.items():
                self.add_curve(name, style)

    def clear(self) -> None:
        """Remove all curves, and what belongs to them."""
        self._remove_curves()
        self.forget()

    def _remove_curves(self) -> None:
        for curve in self._curves.values():
            self.canvas.remove_curve(curve)
        self._curves.clear()
        self._stale = True

    def forget(self) -> None:
        """Keep the curves, but nothing of what they showed."""
        for curve in self._curves.values():
            curve.forget()
        self.canvas.set_limits(())
        self.canvas.set_marks(())
        self.set_legend(())
        self.draw_soon()

    def make_switchable(self, hidden: Iterable[str] = ()) -> None:
        """Let a person hide curves by their names in the legend.

        These are hidden at the beginning.
        """
        self.legend.make_switchable(hidden)
        self.legend.hidden_changed.connect(self.draw_soon)
        self.draw_soon()

    def belong(self, name: str, *names: str) -> None:
        """Hide the curve called `name` when all of these names are hidden in the legend."""
        self._curves[name].belongs = frozenset(names)

    def enclose(self, name: str, lower: str) -> None:
        """Fill the band from the curve called `name` down to one that was added before."""
        curve, other = self._curves[name], self._curves[lower]
        if curve.down_to is not other:
            self.canvas.enclose(curve, other)

    def head(self, name: str, heading: str) -> None:
        """Call the column of the curve `name` so in a table: what it shows, and its unit."""
        self._curves[name].heading = heading

    @property
    def curves(self) -> list[PlotCurve]:
        """The curves, from the backmost."""
        return list(self._curves.values())

    def feed(
        self,
        name: str,
        times: Array,
        values: Array,
        origin: float,
        longest_gap: float = math.inf,
    ) -> None:
        """Give a curve its points.

        Sorted times, shape (points,), where `origin` is the run's start.

        The line is broken where nothing is known for longer than `longest_gap` seconds.
        """
        self._curves[name].longest_gap = longest_gap
        self._curves[name].set_series(times, values, origin)
        self._stale = True

    def feed_series(
        self, name: str, series: Series, origin: float, longest_gap: float = math.inf
    ) -> None:
        """Have a curve show what is in `series` now, and what comes to it."""
        self._curves[name].longest_gap = longest_gap
        self._curves[name].follow(series, origin)
        self._stale = True

    def set_legend(self, entries: Sequence[LegendEntry]) -> None:
        """Show these names and newest values."""
        self.legend.set_entries(entries)
        # At once: a frame drawn before the layout would leave names out for which there is space.
        self.body.activate()

    def refresh(self) -> None:
        """Draw what is new, if it is due and visible."""
        if not self.isVisible() or not self._since.hasExpired(round(self._pause_ms())):
            return
        if self._stale or self._has_grown:
            self._draw()

    @property
    def _has_grown(self) -> bool:
        return any(curve.grown for curve in self._curves.values())

    def draw_soon(self) -> None:
        """Draw at once, or when the card is shown again: after an action of the user."""
        self._stale = True
        if self.isVisible():
            self._draw()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what has come while nobody could see it."""
        super().showEvent(event)
        if self._stale or self._has_grown:
            self._draw()

    def _draw(self) -> None:
        self._stale = False
        self._since.restart()
        self.redraws += 1
        for curve in self._curves.values():
            curve.show(not curve.belongs <= self.legend.hidden)
        self.canvas.redraw()

    def _pause_ms(self) -> float:
        """The milliseconds that a new pixel takes: sooner there is nothing new to see but in it."""
        window, ruler = self._time.window, self._time.ruler
        pixel_ms = (
            1000.0 * (ruler.second(window.end) - ruler.second(window.start)) / self.canvas.columns
        )
        return min(max(pixel_ms, _SOONEST_MS), _LATEST_MS) - 1

    def _wear(self, tokens: Tokens) -> None:
        self.canvas.set_tokens(tokens)


_LEAST = (720, 320)
_SIDE = 16
_HEAD, _FOOT = 36, 26
_LINE = 1.5
_DOT = 2.5


@dataclass(frozen=True, slots=True, eq=False)
class PlotPicture:
    """What is drawn.

    The `title` and the names of the curves over the plot, the `caption` under it.
    """

    title: str
    caption: str
    canvas: Canvas
    entries: Sequence[LegendEntry] = ()

    @property
    def size(self) -> QSize:
        """As large as on the screen, or larger where that is too small to be looked at alone."""
        wide, high = (
            max(one, least) for one, least in zip(self.canvas.size().toTuple(), _LEAST, strict=True)
        )
        return QSize(wide + 2 * _SIDE, high + _HEAD + _FOOT)

    def image(self) -> QImage:
        """In pixels, twice as many each way as the size says."""
        return image_of(self.size, self.paint)

    def png(self) -> bytes:
        """The same as a PNG file."""
        return png_of(self.size, self.paint)

    def svg(self) -> bytes:
        """As an SVG file of lines and letters."""
        return svg_of(self.size, self.paint, self.title, self.caption)

    def paint(self, painter: QPainter) -> None:
        """Draw it in the rectangle from (0, 0) to its size."""
        tokens = self.canvas.backdrop.tokens
        whole = QRectF(0, 0, self.size.width(), self.size.height())
        painter.fillRect(whole, QColor(tokens.surface))
        self._paint_head(painter)
        backdrop = self._backdrop()
        painter.save()
        painter.translate(_SIDE, _HEAD)
        backdrop.paint(
            painter, QRectF(0, 0, whole.width() - 2 * _SIDE, whole.height() - _HEAD - _FOOT)
        )
        self._paint_curves(painter, backdrop)
        backdrop.paint_limit_names(painter)
        painter.restore()
        painter.setFont(font("caption"))
        painter.setPen(QColor(tokens.muted))
        painter.drawText(QPointF(_SIDE, whole.height() - 9), self.caption)

    def _backdrop(self) -> Backdrop:
        """The canvas's own, in the area that there is here, and always with the axis named."""
        width, height = self.size.width() - 2 * _SIDE, self.size.height() - _HEAD - _FOOT
        area = QRectF(LEFT, TOP, width - LEFT - _SIDE, height - TOP - BOTTOM_WITH_TIMES)
        return replace(self.canvas.backdrop, area=area, times_shown=True, focused=False)

    def _paint_head(self, painter: QPainter) -> None:
        tokens = self.canvas.backdrop.tokens
        painter.setFont(font("title"))
        painter.setPen(QColor(tokens.text))
        painter.drawText(QPointF(_SIDE, 23), self.title)
        left = _SIDE + QFontMetrics(font("title")).horizontalAdvance(self.title) + 2 * _SIDE
        painter.setFont(font("caption"))
        for place in laid_out(self.entries, QFontMetrics(font("caption")), left):
            paint_entry(painter, tokens, place, QRect(0, 8, self.size.width(), 21))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _paint_curves(self, painter: QPainter, backdrop: Backdrop) -> None:
        painter.save()
        painter.setClipRect(backdrop.area)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for curve in self.canvas.curves:
            if curve.shown:
                _paint_curve(painter, backdrop, curve)
        painter.restore()


def _paint_curve(painter: QPainter, backdrop: Backdrop, curve: PlotCurve) -> None:
    _paint_band(painter, backdrop, curve)
    if not curve.style.line:
        return
    colour = QColor(curve.style.colour(backdrop.tokens))
    pen = QPen(colour, _LINE)
    if curve.style.dash:
        pen.setDashPattern([part / _LINE for part in curve.style.dash])
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    points = _pixels(backdrop, curve)
    for piece in _pieces(points, curve.strokes[2]):
        painter.drawPolyline(QPolygonF(piece))
    if curve.dots:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        for point in points:
            painter.drawEllipse(point, _DOT, _DOT)


def _paint_band(painter: QPainter, backdrop: Backdrop, curve: PlotCurve) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(curve.style.filling(backdrop.tokens))
    for places, heights in curve.outline:
        painter.drawPolygon(QPolygonF(_points(backdrop, places, heights)))


def _pixels(backdrop: Backdrop, curve: PlotCurve) -> list[QPointF]:
    places, heights, _ = curve.strokes
    return _points(backdrop, places, heights)


def _points(backdrop: Backdrop, places: Array, heights: Array) -> list[QPointF]:
    pairs = zip(places.tolist(), heights.tolist(), strict=True)
    return [QPointF(backdrop.x_of(place), backdrop.y_of(height)) for place, height in pairs]


def _pieces(points: list[QPointF], joined: Flags) -> Iterator[list[QPointF]]:
    """The unbroken pieces of a line."""
    begin = 0
    for end in (*(np.flatnonzero(~joined) + 1).tolist(), len(points)):
        if end - begin > 1:
            yield points[begin:end]
        begin = end
