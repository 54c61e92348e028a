"""The picture of a study: points with their spread, a fitted curve with its band, the ideal line.

Points that have names stand one below the other. The same is painted into PNG and SVG files.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gpu_studio.lab.study_picture import PictureCurve, PicturePoint, StudyPicture, in_figures
from gpu_studio.runs.reading.series import Array
from gpu_studio.runs.ticks import Tick, linear_ticks, round_range
from gpu_studio.ui.kit import GRID, LEFT, RIGHT, ThemeManager, Tokens, font, mix
from gpu_studio.ui.kit.picture_file import png_of, svg_of
from gpu_studio.ui.lab.legend_flow import LINE, Flow, flow

_HEAD, _FOOT, _TOP, _SIDE = 26.0, 26.0, 10.0, 12.0
_SAMPLE, _DOT, _CAP = 22.0, 4.5, 4.0
_ROW: Final = 40.0
"""Pixels of a tick, about."""
_PAD: Final = 0.06
_MOST_OF_WIDTH: Final = 0.4
_LEAST: Final = QSize(640, 360)
_NEAR: Final = 14.0
_BAND: Final = 0.14
_DOTTED: Final = (1.5, 3.0)
_DASHED: Final = (5.0, 3.0)


class StudyChart(QWidget):
    """Shows a StudyPicture, or in words why there is none."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._picture: StudyPicture | None = None
        self._nothing = ""
        self._marked = ""
        self.setMinimumSize(220, 220)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme.changed.connect(self.update)

    @property
    def picture(self) -> StudyPicture | None:
        """What is drawn."""
        return self._picture

    def show_picture(
        self, picture: StudyPicture | None, nothing: str = "", marked: str = ""
    ) -> None:
        """Draw this, with the point called `marked` in a ring; or say why there is nothing."""
        self._picture, self._nothing, self._marked = picture, nothing, marked
        self.setAccessibleName(picture.title if picture else "Picture of the study")
        self.setAccessibleDescription(picture.words if picture else nothing)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As high as rows of names need."""
        rows = len(self._picture.points) if self._picture and self._picture.by_name else 0
        return QSize(420, max(240, int(_HEAD + _FOOT + rows * 2.6 * GRID)))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw it."""
        del event
        painter = QPainter(self)
        self._paint(painter, QRectF(self.rect()))

    def event(self, event: QEvent) -> bool:
        """Say what the point under the pointer is."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            point = self.point_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), _said(self._picture, point), self)
            return True
        return super().event(event)

    def point_at(self, place: QPointF) -> PicturePoint | None:
        """The point that is drawn there; None if there is none."""
        if self._picture is None:
            return None
        pen = _Pen(self._picture, QRectF(self.rect()), self._theme.tokens)
        distances = [(math.dist(place.toTuple(), pen.at(each).toTuple()), each)
                     for each in self._picture.points]  # fmt: skip
        nearest, point = min(distances, key=lambda each: each[0])
        return point if nearest <= _NEAR else None

    def png(self) -> bytes:
        """The picture as a PNG file, twice as sharp as on the screen."""
        size = self.size().expandedTo(_LEAST)
        return png_of(size, partial(self._paint_file, size))

    def svg(self) -> bytes:
        """The same as an SVG file of lines and letters."""
        size, words = self.size().expandedTo(_LEAST), self.accessibleDescription()
        return svg_of(size, partial(self._paint_file, size), self.accessibleName(), words)

    def _paint_file(self, size: QSize, painter: QPainter) -> None:
        whole = QRectF(0, 0, size.width(), size.height())
        painter.fillRect(whole, QColor(self._theme.tokens.surface))
        self._paint(painter, whole.adjusted(_SIDE, GRID, -_SIDE, -GRID))

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        tokens = self._theme.tokens
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._picture is None:
            painter.setFont(font("text"))
            painter.setPen(QColor(tokens.muted))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(area, int(flags), self._nothing)
            return
        _Pen(self._picture, area, tokens).paint(painter, self._marked)


def _said(picture: StudyPicture | None, point: PicturePoint | None) -> str:
    if picture is None or point is None:
        return ""
    words = f"{point.label}: {picture.written(point.mean)}"
    if len(point.values) < 2:
        return words
    ends = (picture.written(end(point.values)) for end in (min, max))
    return f"{words} ({' to '.join(ends)} over {len(point.values)} runs)"


class _Pen:
    """Draws one picture into an area."""

    def __init__(self, picture: StudyPicture, area: QRectF, tokens: Tokens) -> None:
        self.picture, self.area, self.tokens = picture, area, tokens
        self._letters = QFontMetricsF(font("caption"))
        self.low, self.high, self.ticks = self._values()
        self.plot = self._plot()

    def at(self, point: PicturePoint) -> QPointF:
        """Where the mean of a point lies."""
        return self._place(point.x, point.mean)

    def paint(self, painter: QPainter, marked: str) -> None:
        """Draw all of it."""
        self._paint_head(painter)
        painter.setFont(font("caption"))
        self._paint_axes(painter)
        picture = self.picture
        if picture.fitted is not None:
            self._paint_curve(painter, picture.fitted, 1, _DASHED, 2.0)
        elif not picture.by_name and len(picture.points) > 1:
            self._paint_means(painter)
        if picture.ideal is not None:  # over the band of the fitted one
            self._paint_curve(painter, picture.ideal, 2, _DOTTED, 1.6)
        for point in picture.points:
            self._paint_point(painter, point, marked=point.label == marked)

    def _values(self) -> tuple[float, float, list[Tick]]:
        """The ends of the axis of values, and what is written along it."""
        picture = self.picture
        values = [value for each in picture.points for value in each.values]
        for curve in (picture.fitted, picture.ideal):
            if curve is not None:
                values += [float(np.nanmax(curve.y)), float(np.nanmin(curve.y))]
        length = self.area.width() if picture.by_name else self.area.height() - self._head - _FOOT
        rows = max(2, int(length / (2.4 * _ROW if picture.by_name else _ROW)))
        low, high = round_range(min(values) if picture.losses else 0.0, max(values), rows)
        ticks = [(at, f"{text}{picture.unit}") for at, text in linear_ticks(low, high, rows)]
        return low, high, ticks

    def _plot(self) -> QRectF:
        """The rectangle of the plot, inside what is written around it."""
        words = (
            [each.label for each in self.picture.points]
            if self.picture.by_name
            else [text for _, text in self.ticks]
        )
        widest = max((self._letters.horizontalAdvance(each) for each in words), default=0.0)
        left = min(widest, self.area.width() * _MOST_OF_WIDTH) + GRID
        last = self._letters.horizontalAdvance(self.ticks[-1][1]) / 2 if self.ticks else 0.0
        right = max(_SIDE, last + 2) if self.picture.by_name else _SIDE
        return self.area.adjusted(left, self._head + _TOP, -right, -_FOOT)

    def _across(self, x: float) -> float:
        places = [each.x for each in self.picture.points]
        least, most = min(places), max(places)
        if self.picture.log:
            x, least, most = math.log(x), math.log(least), math.log(most)
        share = 0.5 if most == least else (x - least) / (most - least)
        return self.plot.left() + (_PAD + share * (1 - 2 * _PAD)) * self.plot.width()

    def _place(self, x: float, value: float) -> QPointF:
        share = (value - self.low) / (self.high - self.low)
        if self.picture.by_name:
            row = self.plot.height() / len(self.picture.points)
            across = self.plot.left() + share * self.plot.width()
            return QPointF(across, self.plot.top() + (x + 0.5) * row)
        return QPointF(self._across(x), self.plot.bottom() - share * self.plot.height())

    def _paint_head(self, painter: QPainter) -> None:
        area = QRectF(self.area.left(), self.area.top(), self.area.width(), _HEAD - GRID / 2)
        painter.setFont(font("title"))
        painter.setPen(QColor(self.tokens.text))
        painter.drawText(area, int(LEFT), self.picture.title)
        painter.setFont(font("caption"))
        placed = zip(self._legend(), self._flow.places, strict=True)
        for (words, place, dash), (left, line) in placed:
            middle, x = area.center().y() + line * LINE, area.left() + left
            painter.setPen(self._stroke(place, dash, 2.0))
            painter.drawLine(QPointF(x, middle), QPointF(x + _SAMPLE, middle))
            painter.setPen(QColor(self.tokens.muted))
            entry = area.adjusted(left + _SAMPLE + GRID, line * LINE, 0, line * LINE)
            painter.drawText(entry, int(LEFT), words)

    @property
    def _flow(self) -> Flow:
        title = QFontMetricsF(font("title")).horizontalAdvance(self.picture.title) + 2 * GRID
        widths = [
            _SAMPLE + 3 * GRID + self._letters.horizontalAdvance(words)
            for words, _, _ in self._legend()
        ]
        return flow(title, widths, self.area.width() + 2 * GRID)

    @property
    def _head(self) -> float:
        return _HEAD + (self._flow.lines - 1) * LINE

    def _legend(self) -> list[tuple[str, int, tuple[float, ...]]]:
        picture = self.picture
        spread = any(len(each.values) > 1 for each in picture.points)
        found = [("measured, least to most" if spread else "measured", 0, tuple[float, ...]())]
        if picture.fitted is not None:
            band = ", 95 %" if picture.fitted.low is not None else ""
            found.append((f"{picture.fitted.name}{band}", 1, _DASHED))
        if picture.ideal is not None:
            found.append((picture.ideal.name, 2, _DOTTED))
        return found

    def _paint_axes(self, painter: QPainter) -> None:
        plot, tokens = self.plot, self.tokens
        grid, ink = QPen(QColor(tokens.line), 1), QColor(tokens.muted)
        for value, text in self.ticks:
            place = self._place(0.0 if self.picture.by_name else self.picture.points[0].x, value)
            painter.setPen(grid)
            if self.picture.by_name:
                painter.drawLine(QPointF(place.x(), plot.top()), QPointF(place.x(), plot.bottom()))
                below = QRectF(place.x() - _ROW, plot.bottom() + 4, 2 * _ROW, _FOOT - 4)
                painter.setPen(ink)
                painter.drawText(below, int(Qt.AlignmentFlag.AlignCenter), text)
            else:
                painter.drawLine(QPointF(plot.left(), place.y()), QPointF(plot.right(), place.y()))
                beside = QRectF(self.area.left(), place.y() - 10, plot.left() - GRID, 20)
                painter.setPen(ink)
                painter.drawText(beside.adjusted(0, 0, -self.area.left(), 0), int(RIGHT), text)
        painter.setPen(ink)
        self._paint_names(painter) if self.picture.by_name else self._paint_numbers(painter)

    def _paint_names(self, painter: QPainter) -> None:
        for each in self.picture.points:
            place = self.at(each).y()
            beside = QRectF(self.area.left(), place - 10, self.plot.left() - GRID, 20)
            beside.setRight(self.plot.left() - GRID)
            right = Qt.TextElideMode.ElideRight
            painter.drawText(beside, int(LEFT), self._letters.elidedText(
                each.label, right, beside.width()))  # fmt: skip

    def _paint_numbers(self, painter: QPainter) -> None:
        """Write the numbers of the points along the bottom, as many as fit."""
        free = -math.inf
        for each in self.picture.points:
            text, x = in_figures(each.x), self._across(each.x)
            half = self._letters.horizontalAdvance(text) / 2
            if x - half > free:
                below = QRectF(x - half - 2, self.plot.bottom() + 4, 2 * half + 4, _FOOT - 4)
                painter.drawText(below, int(Qt.AlignmentFlag.AlignCenter), text)
                free = x + half + GRID

    def _stroke(self, place: int, dash: tuple[float, ...], width: float) -> QPen:
        pen = QPen(QColor(self.tokens.device_colour(place)), width)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if dash:
            pen.setDashPattern(list(dash))
        return pen

    def _line(self, x: Array, y: Array) -> QPolygonF:
        return QPolygonF([self._place(float(a), float(b)) for a, b in zip(x, y, strict=True)])

    def _paint_curve(
        self, painter: QPainter, curve: PictureCurve, place: int, dash: tuple[float, ...],
        width: float,
    ) -> None:  # fmt: skip
        if curve.low is not None and curve.high is not None:
            path = QPainterPath()
            along = np.concatenate([curve.x, curve.x[::-1]])
            path.addPolygon(self._line(along, np.concatenate([curve.high, curve.low[::-1]])))
            band = mix(self.tokens.device_colour(place), self.tokens.surface, _BAND)
            painter.save()
            painter.setClipRect(self.plot.adjusted(0, -_TOP, 0, 0))
            painter.fillPath(path, QColor(band))
            painter.restore()
        painter.setPen(self._stroke(place, dash, width))
        painter.drawPolyline(self._line(curve.x, curve.y))

    def _paint_means(self, painter: QPainter) -> None:
        painter.setPen(self._stroke(0, (), 1.6))
        painter.drawPolyline(QPolygonF([self.at(each) for each in self.picture.points]))

    def _paint_point(self, painter: QPainter, point: PicturePoint, *, marked: bool) -> None:
        colour = QColor(self.tokens.device_colour(0))
        low, high = (self._place(point.x, end(point.values)) for end in (min, max))
        painter.setPen(QPen(colour, 1.6))
        if len(point.values) > 1:
            cap = QPointF(0, _CAP) if self.picture.by_name else QPointF(_CAP, 0)
            painter.drawLine(low, high)
            for end in (low, high):
                painter.drawLine(end - cap, end + cap)
        painter.setBrush(colour)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawEllipse(self.at(point), _DOT, _DOT)
        if marked:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(self.tokens.good), 1.6))
            painter.drawEllipse(self.at(point), 2 * _DOT, 2 * _DOT)
