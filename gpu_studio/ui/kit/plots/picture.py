"""A plot as a picture of any size.

It is drawn again from what the canvas shows, in lines and letters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QGuiApplication,
    QImage,
    QImageWriter,
    QPainter,
    QPen,
    QPolygonF,
)
from PySide6.QtSvg import QSvgGenerator

from gpu_studio.ui.kit.plots.backdrop import Backdrop
from gpu_studio.ui.kit.plots.canvas import BOTTOM_WITH_TIMES, LEFT, TOP, Canvas
from gpu_studio.ui.kit.plots.curve import PlotCurve
from gpu_studio.ui.kit.plots.legend import LegendEntry, laid_out, paint_entry
from gpu_studio.ui.kit.plots.reduce import Flags
from gpu_studio.ui.kit.theme.fonts import font

SHARPNESS: Final = 2
"""A picture of pixels has so many of them for each pixel of the window."""
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
        image = QImage(self.size * SHARPNESS, QImage.Format.Format_ARGB32)
        image.setDevicePixelRatio(SHARPNESS)
        painter = QPainter(image)
        self.paint(painter)
        painter.end()
        return image

    def png(self) -> bytes:
        """The same as a PNG file."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QImageWriter(buffer, QByteArray(b"png")).write(self.image())
        return bytes(buffer.data().data())

    def svg(self) -> bytes:
        """As an SVG file of lines and letters."""
        buffer = QByteArray()
        made, device = QSvgGenerator(), QBuffer(buffer)
        made.setOutputDevice(device)
        made.setSize(self.size)
        made.setViewBox(QRect(0, 0, self.size.width(), self.size.height()))
        # The fonts are in points of this screen.
        made.setResolution(round(QGuiApplication.primaryScreen().logicalDotsPerInch()))
        made.setTitle(self.title)
        made.setDescription(self.caption)
        painter = QPainter(made)
        self.paint(painter)
        painter.end()
        return bytes(buffer.data())

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
        """The canvas's own, in the room that there is here, and always with the axis named."""
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


def _pixels(backdrop: Backdrop, curve: PlotCurve) -> list[QPointF]:
    places, heights, _ = curve.strokes
    pairs = zip(places.tolist(), heights.tolist(), strict=True)
    return [QPointF(backdrop.x_of(place), backdrop.y_of(height)) for place, height in pairs]


def _pieces(points: list[QPointF], joined: Flags) -> Iterator[list[QPointF]]:
    """The unbroken pieces of a line."""
    begin = 0
    for end in (*(np.flatnonzero(~joined) + 1).tolist(), len(points)):
        if end - begin > 1:
            yield points[begin:end]
        begin = end
