"""A table of samples: each array in words, or drawn if it is a picture, a mask or a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QPixmap, QPolygonF
from PySide6.QtWidgets import QHeaderView, QWidget

from gpu_studio.common.shown_values import Value
from gpu_studio.ui.kit.table import HEADER, PlainTable, Table
from gpu_studio.ui.kit.theme import ThemeManager, Tokens

PICTURE = 48
_CURVE = QSize(112, 40)
_DRAWN_ROW, _ROW = 56, 28
_WIDEST = 320
_INSET = 2.0
_FORMATS = {1: QImage.Format.Format_Grayscale8, 3: QImage.Format.Format_RGB888}
Row = tuple[int, tuple[Value, ...]]


class SamplesModel(PlainTable[Row]):
    """A row for each sample: its place, and what its cells show."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def set_samples(self, headers: Sequence[str], samples: Sequence[Row]) -> None:
        """Show these samples under these headers."""
        if (tuple(headers), tuple(samples)) != (self.headers, self.rows):
            self.beginResetModel()
            self.headers, self.rows = tuple(headers), tuple(samples)
            self.endResetModel()

    def key(self, row: Row) -> int:
        """Its place."""
        return row[0]

    def text(self, row: Row, column: int) -> str:
        """The words of a cell, to be read and copied."""
        return row[1][column].text

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = 0) -> Any:
        """The words of a cell; where it is drawn, that, with the words that judge it."""
        if index.isValid() and role in (
            Qt.ItemDataRole.DecorationRole,
            Qt.ItemDataRole.DisplayRole,
        ):
            value = self.rows[index.row()][1][index.column()]
            if role == Qt.ItemDataRole.DecorationRole:
                return drawing_of(value, self._theme.tokens) if value.drawn else None
            if value.drawn and not value.text.endswith("right"):
                return ""
        return super().data(index, role)


def drawing_of(value: Value, tokens: Tokens) -> QPixmap:
    """Return the picture, or the curves, of a value that is drawn."""
    return _picture(value) if value.pixels else _curves(value, tokens)


def _picture(value: Value) -> QPixmap:
    """Its pixels enlarged to be seen, or scaled to fit the row."""
    line = value.width * value.channels
    image = QImage(value.pixels, value.width, value.height, line, _FORMATS[value.channels])
    small = max(value.width, value.height) <= PICTURE
    how = (
        Qt.TransformationMode.FastTransformation
        if small
        else Qt.TransformationMode.SmoothTransformation
    )
    scaled = image.scaled(PICTURE, PICTURE, Qt.AspectRatioMode.KeepAspectRatio, how)
    return QPixmap.fromImage(scaled)


def _curves(value: Value, tokens: Tokens) -> QPixmap:
    pixmap = QPixmap(_CURVE)
    pixmap.fill(QColor(tokens.raised))
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    wide, high = _CURVE.width() - 2 * _INSET, _CURVE.height() - 2 * _INSET
    for place, curve in enumerate(value.curves):
        painter.setPen(QPen(QColor(tokens.device_colour(place)), 1.25))
        step = wide / max(1, len(curve) - 1)
        points = [
            QPointF(_INSET + number * step, _INSET + high * (1 - height / 255))
            for number, height in enumerate(curve)
        ]
        painter.drawPolyline(QPolygonF(points))
    painter.end()
    return pixmap


class SamplesTable(Table):
    """The table; its rows are high where something is drawn."""

    def __init__(self, theme: ThemeManager, name: str, parent: QWidget | None = None) -> None:
        self.samples = SamplesModel(theme)
        super().__init__(self.samples, name, parent)
        self.samples.setParent(self)
        self.setIconSize(_CURVE.expandedTo(QSize(PICTURE, PICTURE)))
        theme.changed.connect(self.viewport().update)

    @property
    def row_height(self) -> int:
        """How high each row is, in pixels."""
        drawn = any(value.drawn for _, values in self.samples.rows for value in values)
        return _DRAWN_ROW if drawn else _ROW

    def height_of(self, rows: int) -> int:
        """How high the headings and this many rows are, in pixels."""
        return HEADER + self.row_height * min(rows, len(self.samples.rows))

    def show_samples(self, headers: Sequence[str], samples: Sequence[Row]) -> None:
        """Show these, with columns as wide as they need."""
        self.samples.set_samples(headers, samples)
        self.set_row_height(self.row_height)
        header = self.horizontalHeader()
        header.setMaximumSectionSize(_WIDEST)
        self.resizeColumnsToContents()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
