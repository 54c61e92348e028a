"""What stands behind the curves of a plot and seldom changes: grid, ticks, marks in time, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.plots.decimate import Array
from gpu_studio.ui.widgets.plots.scale import LINEAR, Scale
from gpu_studio.ui.widgets.plots.ticks import clock_ticks, time_ticks
from gpu_studio.ui.widgets.plots.time_window import TimeWindow

MarkKind = Literal["epoch", "checkpoint", "warning", "error"]
Marks = Mapping[MarkKind, Array]
"""For each kind of mark the sorted moments, in seconds after the run's start."""

_LABEL_GAP = 8
_NEAREST_MARKS = 6.0
_PIXELS_PER_ROW = 30
_MOST_ROWS = 5
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
    """Paints itself into `area`, which shows `window` of time and the heights from `low` to `high`.

    Where there are no heights to show, `empty` says so in words. Moments are named as time since the start, or, where
    `clock` gives the start in seconds since 1970, by the clock.
    """

    tokens: Tokens
    area: QRectF = field(default_factory=QRectF)
    window: TimeWindow = field(default_factory=TimeWindow)
    low: float = 0.0
    high: float = 1.0
    scale: Scale = LINEAR
    marks: Marks = field(default_factory=dict)
    limits: Sequence[Limit] = ()
    empty: str = ""
    times_shown: bool = False
    focused: bool = False
    clock: float | None = None

    def paint(self, painter: QPainter, whole: QRectF) -> None:
        """Paint everything; `whole` is the surface with the room for labels around `area`."""
        painter.fillRect(whole, QColor(self.tokens.surface))
        painter.setFont(font("caption"))
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
        if self.focused:
            painter.setPen(QColor(self.tokens.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.area)

    @property
    def rows(self) -> int:
        """How many rows of the grid there is room for."""
        least = 2 if self.area.height() >= _LEAST_FOR_TWO_ROWS else 1
        return max(min(int(self.area.height() // _PIXELS_PER_ROW), _MOST_ROWS), least)

    def x_of(self, time: float) -> float:
        """Where a moment lies, in pixels."""
        return self.area.left() + (time - self.window.start) / self.window.span * self.area.width()

    def y_of(self, height: float) -> float:
        """Where a height lies, in pixels."""
        return self.area.bottom() - (height - self.low) / (self.high - self.low) * self.area.height()

    def time_at(self, x: float) -> float:
        """The moment under a pixel."""
        return self.window.start + (x - self.area.left()) / max(self.area.width(), 1.0) * self.window.span

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
        named = time_ticks(start, end, count) if self.clock is None else clock_ticks(start, end, count, self.clock)
        for time, text in named:
            width = metrics.horizontalAdvance(text) + 2
            left = min(max(self.x_of(time) - width / 2, self.area.left()), self.area.right() - width)
            painter.drawText(QPointF(left, self.area.bottom() + metrics.ascent() + 5), text)

    def _paint_limits(self, painter: QPainter) -> None:
        metrics = QFontMetricsF(painter.font())
        for limit in self.limits:
            y = round(self.y_of(limit.value))
            self._paint_line(painter, y, self.tokens.bad)
            if self.area.height() < _LEAST_FOR_LIMIT:
                continue  # no room between the line and the curves
            width = metrics.horizontalAdvance(limit.text)
            label = QRectF(self.area.right() - width - 4, y + 2, width + 4, metrics.height())
            painter.fillRect(label, QColor(self.tokens.surface))
            painter.drawText(label, Qt.AlignmentFlag.AlignCenter, limit.text)

    def _paint_marks(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for kind, times in self.marks.items():
            for x in self._places(times):
                _MARK_PAINTERS[kind](self, painter, x)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _places(self, times: Array) -> list[float]:
        """Where marks of one kind are drawn: those in the window, of those that would lie upon each other the first."""
        first, last = np.searchsorted(times, (self.window.start, self.window.end))
        x = self.area.left() + (times[first:last] - self.window.start) / self.window.span * self.area.width()
        apart = np.diff(x // _NEAREST_MARKS, prepend=-1) > 0
        return [float(place) for place in x[apart]]

    def _paint_epoch(self, painter: QPainter, x: float) -> None:
        painter.setPen(QColor(mix(self.tokens.muted, self.tokens.surface, 0.7)))
        painter.drawLine(QLineF(round(x) + 0.5, self.area.bottom() - 5, round(x) + 0.5, self.area.bottom()))

    def _paint_checkpoint(self, painter: QPainter, x: float) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.tokens.accent))
        y = self.area.bottom()
        painter.drawPolygon(QPolygonF([QPointF(x, y - 4), QPointF(x + 4, y), QPointF(x, y + 4), QPointF(x - 4, y)]))

    def _paint_warning(self, painter: QPainter, x: float) -> None:
        self._paint_upright(painter, x, self.tokens.warning, Qt.PenStyle.DashLine)

    def _paint_error(self, painter: QPainter, x: float) -> None:
        self._paint_upright(painter, x, self.tokens.bad, Qt.PenStyle.SolidLine)

    def _paint_upright(self, painter: QPainter, x: float, colour: str, style: Qt.PenStyle) -> None:
        """A line from bottom to top, with a small triangle that points at it from above."""
        top = self.area.top()
        painter.setPen(QPen(QColor(mix(colour, self.tokens.surface, 0.7)), 1, style))
        painter.drawLine(QLineF(round(x) + 0.5, top, round(x) + 0.5, self.area.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawPolygon(QPolygonF([QPointF(x - 4, top - 2), QPointF(x + 4, top - 2), QPointF(x, top + 5)]))


_MARK_PAINTERS = {
    "epoch": Backdrop._paint_epoch,  # noqa: SLF001 - the table belongs to the class
    "checkpoint": Backdrop._paint_checkpoint,  # noqa: SLF001
    "warning": Backdrop._paint_warning,  # noqa: SLF001
    "error": Backdrop._paint_error,  # noqa: SLF001
}
