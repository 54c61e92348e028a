"""Curves and points over two logarithmic axes, below the lines that they cannot cross."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from gpu_studio.lab.benchmark_pictures import Curves, PictureMark, Unit, in_unit
from gpu_studio.ui.kit import GRID, LEFT, RIGHT, Tokens, font
from gpu_studio.ui.lab.pictures.drawing import LEGEND, Hotspot, draw_legend, draw_mark, pen

_LEAST, _BELOW, _MARGIN, _REACH = 170.0, 36.0, 0.06, 9.0
_A_LABEL, _A_LINE = 86.0, 30.0
_CENTRE: Final = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
_BINARY: Final[tuple[Unit, ...]] = ("bytes", "bytes a second")
_POWERS: Final = (1, 2, 5, 10, 20)
"""A line at every so many powers of two: 1 KiB, 32 KiB, 1 MiB."""
_DIGITS: Final = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))


@dataclass(frozen=True, slots=True)
class LogAxis:
    """An axis from `low` to `high`, both above 0, as the logarithm to base ten."""

    low: float
    high: float
    unit: Unit

    def share(self, value: float) -> float:
        """Where a value lies, from 0 at the low end to 1; what has no logarithm lies at 0."""
        low, high = math.log10(self.low), math.log10(self.high)
        return (math.log10(value) - low) / (high - low) if value > 0 else 0.0

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Round values with their names, about `most` of them."""
        found = self._binary(most) if self.unit in _BINARY else self._decimal(most)
        return [(value, in_unit(value, self.unit)) for value in found]

    def _binary(self, most: int) -> list[float]:
        low, high = math.log2(self.low), math.log2(self.high)
        for step in _POWERS:
            places = range(math.ceil(low / step), math.floor(high / step) + 1)
            if len(places) <= most:
                break
        return [2.0 ** (place * step) for place in places]

    def _decimal(self, most: int) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for digits in _DIGITS:
            found = [
                value
                for power in range(first, last + 1)
                for digit in digits
                if self.low <= (value := digit * 10.0**power) <= self.high
            ]
            if len(found) <= max(most, 2):
                return found
        return found[:: -(-len(found) // most)]


def least_height(picture: Curves) -> float:
    """The pixels in which curves can be distinguished."""
    del picture
    return _LEAST


def usual_height(picture: Curves) -> float:
    """Curves may be as high as there is space."""
    del picture
    return math.inf


def axes(picture: Curves) -> tuple[LogAxis, LogAxis]:
    """The axes that hold every mark and line, with some space around."""
    xs = [mark.x for curve in picture.curves for mark in curve.marks]
    ys = [each for c in picture.curves for m in c.marks for each in (m.low, m.high)]
    # The lines go on to the ends, and need no space of their own but at their top.
    ys += [y for c in picture.curves for line in (c.ceiling, c.published) for _, y in line[-1:]]
    return _axis(xs, picture.x_unit), _axis(ys, picture.y_unit)


def _axis(values: Iterable[float], unit: Unit) -> LogAxis:
    known = [value for value in values if value > 0 and math.isfinite(value)] or [1.0]
    low, high = math.log10(min(known)), math.log10(max(known))
    around = max((high - low) * _MARGIN, 0.06)
    return LogAxis(10 ** (low - around), 10 ** (high + around), unit)


def spots(picture: Curves, area: QRectF) -> list[Hotspot]:
    """A place for each mark, from the left."""
    plot, (x, y) = _plot(picture, area), axes(picture)
    marks = sorted((m for c in picture.curves for m in c.marks), key=lambda mark: (mark.x, mark.y))
    found = []
    for mark in marks:
        at = _at(plot, x, y, mark.x, mark.y)
        found.append(
            Hotspot(QRectF(at.x() - _REACH, at.y() - _REACH, 2 * _REACH, 2 * _REACH), mark.said)
        )
    return found


def paint(painter: QPainter, picture: Curves, area: QRectF, tokens: Tokens) -> None:
    """Draw the axes, the lines, the curves and their marks into this area."""
    plot, (x, y) = _plot(picture, area), axes(picture)
    names = [curve.name for curve in picture.curves]
    head = QRectF(plot.left(), area.top(), plot.width(), LEGEND)
    draw_legend(painter, tokens, names, head)
    _paint_axes(painter, picture, plot, (x, y), tokens)
    painter.save()
    painter.setClipRect(plot.adjusted(-5, -5, 5, 5))
    for number, curve in enumerate(picture.curves):
        painter.setPen(pen(tokens, number))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        joined = [(mark.x, mark.y) for mark in curve.marks] if curve.joined else []
        for line in (curve.ceiling, joined):
            painter.drawPolyline(QPolygonF([_at(plot, x, y, *point) for point in line]))
        if curve.published:
            painter.setPen(QPen(QColor(tokens.device_colour(number)), 1, Qt.PenStyle.DotLine))
            peak = [_at(plot, x, y, *point) for point in curve.published]
            painter.drawPolyline(QPolygonF(peak))
        _paint_spreads(painter, curve.marks, plot, (x, y), QColor(tokens.device_colour(number)))
        for mark in curve.marks:
            draw_mark(painter, tokens, number, _at(plot, x, y, mark.x, mark.y))
    painter.restore()


def _paint_spreads(
    painter: QPainter,
    marks: Sequence[PictureMark],
    plot: QRectF,
    both: tuple[LogAxis, LogAxis],
    colour: QColor,
) -> None:
    painter.setPen(QPen(colour, 1))
    for mark in marks:
        ends = [_at(plot, *both, mark.x, end) for end in (mark.low, mark.high)]
        painter.drawLine(*ends)


def _paint_axes(
    painter: QPainter,
    picture: Curves,
    plot: QRectF,
    both: tuple[LogAxis, LogAxis],
    tokens: Tokens,
) -> None:
    x, y = both
    painter.setFont(font("caption"))
    for value, name in y.ticks(max(int(plot.height() / _A_LINE), 2)):
        height = plot.bottom() - plot.height() * y.share(value)
        painter.setPen(QColor(tokens.line))
        painter.drawLine(QPointF(plot.left(), height), QPointF(plot.right(), height))
        painter.setPen(QColor(tokens.muted))
        words = QRectF(0, height - 8, plot.left() - GRID, 16)
        painter.drawText(words, int(RIGHT), name)
    painter.setPen(QColor(tokens.line))
    painter.drawLine(plot.bottomLeft(), plot.bottomRight())
    for value, name in x.ticks(max(int(plot.width() / _A_LABEL), 2)):
        at = plot.left() + plot.width() * x.share(value)
        painter.setPen(QColor(tokens.line))
        painter.drawLine(QPointF(at, plot.bottom()), QPointF(at, plot.bottom() + 4))
        painter.setPen(QColor(tokens.muted))
        words = QRectF(at - _A_LABEL / 2, plot.bottom() + 5, _A_LABEL, 16)
        words.moveRight(min(words.right(), plot.right() + _A_LABEL / 2 - 24))
        painter.drawText(words, int(_CENTRE), name)
    below = QRectF(plot.left(), plot.bottom() + 19, plot.width(), 16)
    published = any(curve.published for curve in picture.curves)
    both_names = f"{picture.y_name} over {picture.x_name}, both logarithmic"
    both_names += " · dotted: published" if published else ""
    right = Qt.TextElideMode.ElideRight
    painter.drawText(
        below, int(LEFT), painter.fontMetrics().elidedText(both_names, right, int(below.width()))
    )


def _plot(picture: Curves, area: QRectF) -> QRectF:
    """What the legend and the names of the axes leave."""
    metrics, y = QFontMetricsF(font("caption")), axes(picture)[1]
    height = area.height() - LEGEND - _BELOW - GRID
    names = [name for _, name in y.ticks(max(int(height / _A_LINE), 2))]
    widest = max((metrics.horizontalAdvance(name) for name in names), default=40.0)
    left = area.left() + widest + GRID + 2
    return QRectF(
        left, area.top() + LEGEND + GRID, max(area.right() - left - GRID, 1), max(height, 1)
    )


def _at(plot: QRectF, x: LogAxis, y: LogAxis, one: float, other: float) -> QPointF:
    return QPointF(
        plot.left() + plot.width() * x.share(one), plot.bottom() - plot.height() * y.share(other)
    )
