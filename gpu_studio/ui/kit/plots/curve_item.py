"""The line of a curve: a graphics item that has nothing else to do in a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from pyqtgraph.graphicsItems.PlotCurveItem import arrayToLineSegments
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from gpu_studio.runs.reading.series import Array
from gpu_studio.ui.kit.plots.reduce import Flags

_NOTHING: Array = np.empty(0)
_NOT_JOINED: Flags = np.empty(0, dtype=np.bool_)


class CurveItem(QGraphicsItem):
    """Draws the line of a curve as it was given last, and has nothing else to do in a frame.

    `strokes` are places and heights, shape (points,), and whether each is joined to the one after
    it. pyqtgraph's own item asks for its bounds and its options anew in each frame: of thirty
    curves that is most of the time that it takes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.strokes: tuple[Array, Array, Flags] = (_NOTHING, _NOTHING, _NOT_JOINED)
        self.pen = QPen()
        self._bounds = QRectF()
        self._path: QPainterPath | None = None

    def set_pen(self, pen: QPen) -> None:
        """Draw by this pen."""
        self.pen, self._path = pen, None
        self.update()

    def set_strokes(self, places: Array, heights: Array, joined: Flags) -> None:
        """Draw this from now on."""
        self.prepareGeometryChange()
        self.strokes, self._path = (places, heights, joined), None
        self._bounds = _bounds(places, heights)
        self.update()

    def boundingRect(self) -> QRectF:  # noqa: N802 - Qt's name
        """Around all points."""
        return self._bounds

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw it."""
        del option, widget
        if self.pen.style() == Qt.PenStyle.NoPen:
            return
        painter.setPen(self.pen)
        # A wide line is drawn many times faster in pieces than as a whole.
        if self.pen.widthF() > 1 and self.pen.style() == Qt.PenStyle.SolidLine:
            # Kept while it is drawn: what is handed on is its memory.
            pieces = arrayToLineSegments(*self._connected(), False)
            painter.drawLines(*pieces.drawargs())
            return
        if self._path is None:
            self._path = pg.arrayToQPath(*self._connected(), finiteCheck=False)
        painter.drawPath(self._path)

    def _connected(self) -> tuple[Array, Array, Any]:
        """The strokes, as pyqtgraph takes them."""
        x, y, joined = self.strokes
        return x, y, "all" if joined[:-1].all() else joined.astype(np.int32)


def _bounds(places: Array, heights: Array) -> QRectF:
    if not len(places):
        return QRectF()
    low, high = float(heights.min()), float(heights.max())
    return QRectF(float(places[0]), low, float(places[-1] - places[0]), high - low)
