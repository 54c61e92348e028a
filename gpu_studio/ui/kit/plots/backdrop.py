"""The rarely changing layer behind a plot's curves: grid, ticks, limits, marks and spans in time.

Marks are events and spans are periods. Each kind of mark has a shape of its own, so that colour
is not the only sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from gpu_studio.runs.reading.series import Array
from gpu_studio.runs.ticks import clock_ticks
from gpu_studio.ui.kit.plots.axes import LINEAR, TIME, Ruler, Scale
from gpu_studio.ui.kit.plots.reduce import Indices
from gpu_studio.ui.kit.plots.time_view import TimeWindow
from gpu_studio.ui.kit.theme import Tokens, font, mix

_LABEL_GAP = 8
_PIXELS_PER_ROW = 30
_MOST_ROWS = 5
_REACH = 6.0
_LEAST_FOR_TWO_ROWS = 28
_LEAST_FOR_LIMIT = 60
_PIXELS_PER_TIME = 110


@dataclass(frozen=True, slots=True)
class Limit:
    """A value that cannot be passed, drawn as a line with its name.

    One that is far `above` all curves has its name with an arrow at the upper edge.
    """

    value: float
    text: str
    above: bool = False


@dataclass(slots=True)
class Backdrop:
    """Paints all of a plot but its curves into `area`.

    The area shows `window` of what `ruler` counts, and the heights from `low` to `high`.

    Where there are no heights to show, `empty` says so in words; `note` is what is to be known of
    those shown. Places are named as the ruler does it, or, where `clock` gives the start in seconds
    since 1970, by the clock.
    """

    tokens: Tokens
    area: QRectF = field(default_factory=QRectF)
    window: TimeWindow = field(default_factory=TimeWindow)
    low: float = 0.0
    high: float = 1.0
    scale: Scale = LINEAR
    ruler: Ruler = TIME
    marks: Sequence[PlotMarks] = ()
    spans: Sequence[PlotSpan] = ()
    limits: Sequence[Limit] = ()
    empty: str = ""
    note: str = ""
    times_shown: bool = False
    focused: bool = False
    clock: float | None = None

    def paint(self, painter: QPainter, whole: QRectF) -> None:
        """Paint everything; `whole` is the surface with the margins for labels around `area`."""
        painter.fillRect(whole, QColor(self.tokens.surface))
        painter.setFont(font("caption"))
        self._paint_spans(painter)
        self._paint_line(painter, self.area.bottom(), self.tokens.line)
        if self.empty:
            painter.setPen(QColor(self.tokens.muted))
            painter.drawText(self.area, Qt.AlignmentFlag.AlignCenter, self.empty)
        else:
            self._paint_rows(painter)
        if self.times_shown:
            self._paint_times(painter)
        self._paint_marks(painter)
        self._paint_limits(painter)
        if self.note:
            self._paint_note(painter)
        if self.focused:
            painter.setPen(QColor(self.tokens.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.area)

    @property
    def rows(self) -> int:
        """How many rows of the grid there is space for."""
        least = 2 if self.area.height() >= _LEAST_FOR_TWO_ROWS else 1
        return max(min(int(self.area.height() // _PIXELS_PER_ROW), _MOST_ROWS), least)

    def x_of(self, place: float) -> float:
        """Where a place of the axis lies, in pixels."""
        return self.area.left() + (place - self.window.start) / self.window.span * self.area.width()

    def y_of(self, height: float) -> float:
        """Where a height lies, in pixels."""
        return (
            self.area.bottom() - (height - self.low) / (self.high - self.low) * self.area.height()
        )

    def place_at(self, x: float) -> float:
        """The place of the axis under a pixel."""
        return (
            self.window.start
            + (x - self.area.left()) / max(self.area.width(), 1.0) * self.window.span
        )

    def _paint_line(self, painter: QPainter, y: float, colour: str) -> None:
        painter.setPen(QColor(colour))
        painter.drawLine(QLineF(self.area.left(), y, self.area.right(), y))

    def _paint_rows(self, painter: QPainter) -> None:
        for height, text in self.scale.ticks(self.low, self.high, self.rows):
            y = round(self.y_of(height))
            self._paint_line(painter, y, self.tokens.line)
            painter.setPen(QColor(self.tokens.muted))
            box = QRectF(0, y - 10, self.area.left() - _LABEL_GAP, 20)
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_times(self, painter: QPainter) -> None:
        painter.setPen(QColor(self.tokens.muted))
        metrics = QFontMetricsF(painter.font())
        count = max(int(self.area.width() // _PIXELS_PER_TIME), 1)
        start, end = self.window.start, self.window.end
        named = (
            self.ruler.ticks(start, end, count)
            if self.clock is None
            else clock_ticks(start, end, count, self.clock)
        )
        for time, text in named:
            width = metrics.horizontalAdvance(text) + 2
            left = min(
                max(self.x_of(time) - width / 2, self.area.left()), self.area.right() - width
            )
            painter.drawText(QPointF(left, self.area.bottom() + LANE + metrics.ascent() + 2), text)

    def _paint_limits(self, painter: QPainter) -> None:
        for limit in self.limits:
            if not limit.above:
                self._paint_line(painter, round(self.y_of(limit.value)), self.tokens.bad)

    def paint_limit_names(self, painter: QPainter) -> None:
        """Name each limit at its right end, over the line if that fits, if the plot is high."""
        painter.setFont(font("caption"))
        high = QFontMetricsF(painter.font()).height()
        for limit in self.limits if self.area.height() >= _LEAST_FOR_LIMIT else ():
            y = round(self.y_of(limit.value))
            over = y - high - 2
            top = over if over >= self.area.top() else y + 2
            if limit.above:
                top = self.area.top() + (high if self.note else 0) + 2
                self._paint_limit_name(painter, f"↑ {limit.text}", top, self.tokens.muted)
            else:
                self._paint_limit_name(painter, limit.text, top, self.tokens.bad)

    def _paint_limit_name(self, painter: QPainter, text: str, top: float, colour: str) -> None:
        metrics = QFontMetricsF(painter.font())
        width = metrics.horizontalAdvance(text) + 4
        label = QRectF(self.area.right() - width, top, width, metrics.height())
        painter.fillRect(label, QColor(self.tokens.surface))
        painter.setPen(QColor(colour))
        painter.drawText(label, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_note(self, painter: QPainter) -> None:
        painter.setPen(QColor(self.tokens.muted))
        band = self.area.adjusted(8, 2, -8, 0)
        painter.drawText(band, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight, self.note)

    def texts_at(self, x: float) -> list[str]:
        """What is marked near a pixel, in words, a line each."""
        place, reach = self.place_at(x), _REACH / max(self.area.width(), 1.0) * self.window.span
        return texts_at(self.marks, self.spans, self.ruler, place, reach)

    def _paint_spans(self, painter: QPainter) -> None:
        for span, (start, end) in zip(self.spans, ends(self.spans, self.ruler), strict=True):
            paint_span(painter, self.tokens, self.area, span, (self.x_of(start), self.x_of(end)))

    def _paint_marks(self, painter: QPainter) -> None:
        for marks in self.marks:
            paint_marks(painter, self.tokens, self.area, marks.kind, self.pixels_of(marks))

    def pixels_of(self, marks: PlotMarks) -> Array:
        """Where marks of one kind are drawn: those in the window that stand apart."""
        first, places = marks.seen(self.ruler, self.window.start, self.window.end)
        pixels = (
            self.area.left() + (places - self.window.start) / self.window.span * self.area.width()
        )
        return pixels[marks.drawn(first, pixels)]


MarkKind = Literal[
    "epoch", "phase", "checkpoint", "best", "rate", "warning", "xid", "missing", "error"
]
SpanKind = Literal["paused", "throttled", "unwatched"]

MEANINGS: Final[dict[str, str]] = {
    "epoch": "an epoch ends",
    "phase": "a phase begins, with a new optimizer",
    "checkpoint": "a checkpoint was written",
    "best": "the best checkpoint",
    "rate": "the learning rate jumps",
    "warning": "a warning",
    "xid": "the driver reports an error of a card (XID, ECC)",
    "missing": "the loss is no number from here on",
    "error": "the run failed, or was lost",
    "paused": "the run was paused",
    "throttled": "a card's clocks were held down",
}
"""What each kind of mark means, in words."""

_APART: Final[dict[MarkKind, float]] = {
    "epoch": 16.0,
    "checkpoint": 10.0,
    "best": 10.0,
    "rate": 10.0,
}
_APART_ELSE = 8.0
_MOST_LISTED = 3
_STRIDES = (1, 2, 5)


@dataclass(frozen=True, slots=True, eq=False)
class PlotMarks:
    """Marks of one kind.

    Their sorted moments in seconds after the run's start, shape (marks,), and words for each.
    """

    kind: MarkKind
    times: Array
    words: Callable[[int], str]

    def seen(self, ruler: Ruler, start: float, end: float) -> tuple[int, Array]:
        """The places of the marks between two places of the axis, after the first one's number."""
        near = ruler.around(self.times, start, end)
        places = ruler.places(self.times[near])
        first, last = (
            int(places.searchsorted(start, side="left")),
            int(places.searchsorted(end, side="right")),
        )
        return near.start + first, places[first:last]

    def drawn(self, first: int, pixels: Array) -> Indices:
        """Which of the marks at these sorted pixels are drawn; `first` is the number of the first.

        Of those that would lie upon each other it is the first; of epochs every second, fifth,
        tenth and so on, so that they stand evenly.
        """
        apart = _APART.get(self.kind, _APART_ELSE)
        if self.kind == "epoch":
            return _strided(first, pixels, apart)
        return np.flatnonzero(np.diff(pixels // apart, prepend=-1) > 0)

    def reported(self, ruler: Ruler, place: float, reach: float) -> Iterator[str]:
        """The words of the marks within `reach` of a place; of many the first and the last."""
        first, places = self.seen(ruler, place - reach, place + reach)
        count = len(places)
        if count <= _MOST_LISTED:
            yield from (self.words(first + number) for number in range(count))
        else:
            yield f"{count} marks from “{self.words(first)}” to “{self.words(first + count - 1)}”"


@dataclass(frozen=True, slots=True)
class PlotSpan:
    """A period, in seconds after the run's start, and its description."""

    kind: SpanKind
    start: float
    end: float
    words: str


def ends(spans: Sequence[PlotSpan], ruler: Ruler) -> list[tuple[float, float]]:
    """Where each of the spans begins and ends on the axis."""
    starts, stops = (ruler.places(np.array(each, dtype=np.float64)) for each in _times(spans))
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def _times(spans: Sequence[PlotSpan]) -> tuple[list[float], list[float]]:
    return [span.start for span in spans], [span.end for span in spans]


def texts_at(
    marks: Sequence[PlotMarks], spans: Sequence[PlotSpan], ruler: Ruler, place: float, reach: float
) -> list[str]:
    """What is marked within `reach` of a place of the axis, in words, a line each."""
    words = [line for each in marks for line in each.reported(ruler, place, reach)]
    for span, (start, end) in zip(spans, ends(spans, ruler), strict=True):
        if start - reach <= place <= end + reach:
            words.append(span.words)
    return words


def _strided(first: int, pixels: Array, apart: float) -> Indices:
    if len(pixels) < 2:
        return np.arange(len(pixels), dtype=np.intp)
    needed = apart * (len(pixels) - 1) / max(float(pixels[-1] - pixels[0]), 1.0)
    strides = (10**power * factor for power in range(12) for factor in _STRIDES)
    stride = next(stride for stride in strides if stride >= needed)
    return np.flatnonzero((np.arange(first, first + len(pixels)) + 1) % stride == 0)


# More vertical lines than this would hide the curves: then only their heads are drawn.
MOST_UPRIGHTS: Final = 12
LANE: Final = 11
"""Pixels below the curves in which progress is marked, so that no mark lies on a curve.

Phases and alarms cross the curves.
"""
_LEAST_SPAN = 2.0
_SPAN_SHARE = 0.16
Draw = Callable[[QPainter, Tokens, QRectF, float], None]


def paint_span(
    painter: QPainter, tokens: Tokens, area: QRectF, span: PlotSpan, ends: tuple[float, float]
) -> None:
    """Shade what lies between two pixels: flat for a throttled card, else hatched."""
    left, right = max(ends[0], area.left()), min(max(ends[1], ends[0] + _LEAST_SPAN), area.right())
    if right <= left:
        return
    band = QRectF(left, area.top(), right - left, area.height())
    if span.kind == "throttled":
        painter.fillRect(band, QColor(mix(tokens.warning, tokens.surface, _SPAN_SHARE)))
    else:
        painter.fillRect(band, QColor(mix(tokens.muted, tokens.surface, 0.10)))
        painter.fillRect(
            band,
            QBrush(QColor(mix(tokens.muted, tokens.surface, 0.35)), Qt.BrushStyle.BDiagPattern),
        )


def paint_marks(
    painter: QPainter, tokens: Tokens, area: QRectF, kind: MarkKind, pixels: Array
) -> None:
    """Paint marks of one kind at these pixels."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if kind in _UPRIGHTS and len(pixels) <= MOST_UPRIGHTS:
        colour, dash = _UPRIGHTS[kind]
        painter.setPen(_pen(mix(colour(tokens), tokens.surface, 0.7), dash))
        for x in pixels.tolist():
            painter.drawLine(QLineF(round(x) + 0.5, area.top(), round(x) + 0.5, area.bottom()))
    for x in pixels.tolist():
        _HEADS[kind](painter, tokens, area, x)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _pen(colour: str, dash: Sequence[float] = ()) -> QPen:
    pen = QPen(QColor(colour), 1.0)
    if dash:
        pen.setDashPattern(list(dash))
    return pen


def _epoch(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(_pen(mix(tokens.muted, tokens.surface, 0.7)))
    painter.drawLine(QLineF(round(x) + 0.5, area.bottom() + 1, round(x) + 0.5, area.bottom() + 6))


def _diamond(painter: QPainter, x: float, y: float, half: float) -> None:
    points = (
        QPointF(x, y - half),
        QPointF(x + half, y),
        QPointF(x, y + half),
        QPointF(x - half, y),
    )
    painter.drawPolygon(QPolygonF(points))


def _checkpoint(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(_pen(tokens.accent))
    painter.setBrush(QColor(tokens.surface))
    _diamond(painter, x, area.bottom() + LANE / 2, 4)


def _best(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(_pen(tokens.surface))
    painter.setBrush(QColor(tokens.accent))
    _diamond(painter, x, area.bottom() + LANE / 2, 5)


def _rate(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    """A stair, as a learning rate that goes down."""
    painter.setPen(_pen(tokens.text))
    y = area.bottom() + LANE
    painter.drawPolyline(
        [QPointF(x - 5, y - 8), QPointF(x, y - 8), QPointF(x, y - 2), QPointF(x + 5, y - 2)]
    )


def _triangle(painter: QPainter, colour: str, area: QRectF, x: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    top = area.top()
    painter.drawPolygon(
        QPolygonF([QPointF(x - 4, top - 2), QPointF(x + 4, top - 2), QPointF(x, top + 5)])
    )


def _phase(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    """A flag at the upright's head."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(tokens.text))
    top = area.top() - 2
    painter.drawPolygon(QPolygonF([QPointF(x, top), QPointF(x + 8, top + 3), QPointF(x, top + 7)]))


def _xid(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(tokens.bad))
    painter.drawRect(QRectF(x - 3.5, area.top() - 2, 7, 7))


def _missing(painter: QPainter, tokens: Tokens, area: QRectF, x: float) -> None:
    painter.setPen(QPen(QColor(tokens.bad), 1.6))
    top = area.top() + 1
    painter.drawLine(QLineF(x - 4, top - 3, x + 4, top + 5))
    painter.drawLine(QLineF(x - 4, top + 5, x + 4, top - 3))


_UPRIGHTS: Final[dict[MarkKind, tuple[Callable[[Tokens], str], tuple[float, ...]]]] = {
    "phase": (lambda tokens: tokens.muted, (2, 3)),
    "warning": (lambda tokens: tokens.warning, (4, 2)),
    "xid": (lambda tokens: tokens.bad, (1, 2)),
    "missing": (lambda tokens: tokens.bad, (6, 2, 1, 2)),
    "error": (lambda tokens: tokens.bad, ()),
}
"""The colour and the dashes of the lines that cross the curves."""
_HEADS: Final[dict[MarkKind, Draw]] = {
    "epoch": _epoch,
    "phase": _phase,
    "checkpoint": _checkpoint,
    "best": _best,
    "rate": _rate,
    "warning": lambda painter, tokens, *place: _triangle(painter, tokens.warning, *place),
    "xid": _xid,
    "missing": _missing,
    "error": lambda painter, tokens, *place: _triangle(painter, tokens.bad, *place),
}
