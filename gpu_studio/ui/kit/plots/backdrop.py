"""The rarely changing layer behind a plot's curves: grid, ticks, marks in time, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gpu_studio.runs.reading.series import Array
from gpu_studio.runs.ticks import clock_ticks
from gpu_studio.ui.kit.plots.axes import LINEAR, TIME, Ruler, Scale
from gpu_studio.ui.kit.plots.marks import (
    LANE,
    PlotMarks,
    PlotSpan,
    ends,
    paint_marks,
    paint_span,
    texts_at,
)
from gpu_studio.ui.kit.plots.time_view import TimeWindow
from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.tokens import Tokens

_LABEL_GAP = 8
_PIXELS_PER_ROW = 30
_MOST_ROWS = 5
_REACH = 6.0
_LEAST_FOR_TWO_ROWS = 28
_LEAST_FOR_LIMIT = 60
_PIXELS_PER_TIME = 110


@dataclass(frozen=True, slots=True)
class Limit:
    """A value that cannot be passed, drawn as a line with its name."""

    value: float
    text: str


@dataclass(slots=True)
class Backdrop:
    """Paints itself into `area`, which shows `window` of what `ruler` counts, and the heights from
    `low` to `high`.

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
        """Paint everything; `whole` is the surface with the room for labels around `area`."""
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
        """How many rows of the grid there is room for."""
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
            self._paint_line(painter, round(self.y_of(limit.value)), self.tokens.bad)

    def paint_limit_names(self, painter: QPainter) -> None:
        """Name each limit at its right end, over the line where there is room, where the plot is
        high enough.
        """
        if self.area.height() < _LEAST_FOR_LIMIT or not self.limits:
            return
        painter.setFont(font("caption"))
        metrics = QFontMetricsF(painter.font())
        for limit in self.limits:
            y, width = round(self.y_of(limit.value)), metrics.horizontalAdvance(limit.text) + 4
            above = y - metrics.height() - 2
            top = above if above >= self.area.top() else y + 2
            label = QRectF(self.area.right() - width, top, width, metrics.height())
            painter.fillRect(label, QColor(self.tokens.surface))
            painter.setPen(QColor(self.tokens.bad))
            painter.drawText(label, Qt.AlignmentFlag.AlignCenter, limit.text)

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
