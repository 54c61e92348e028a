"""A matrix of directions: a row for each source, a column for each target, figures in fields."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gpu_studio.lab.benchmark_pictures import Cell, Heat
from gpu_studio.ui.kit import GRID, LEFT, Tokens, font, mix, readable
from gpu_studio.ui.lab.pictures.drawing import LEGEND, Hotspot, number_of

_ROW, _LEAST_ROW, _LEAST_COLUMN, _WIDEST, _DOT = 44.0, 22.0, 50.0, 130.0, 4.0
_FAINT, _STRONG, _TWO_LINES = 0.12, 0.85, 36.0
_MIDDLE = Qt.AlignmentFlag.AlignCenter


def least_height(picture: Heat) -> float:
    """The pixels in which all rows can be read."""
    return len(picture.names) * _LEAST_ROW + 2 * LEGEND


def least_width(picture: Heat) -> float:
    """The pixels in which all figures can be read."""
    return len(picture.names) * _LEAST_COLUMN + _names_width(picture)


def usual_height(picture: Heat) -> float:
    """The pixels beyond which nothing grows."""
    return len(picture.names) * _ROW + 2 * LEGEND


def spots(picture: Heat, area: QRectF) -> list[Hotspot]:
    """A place for each field that has something."""
    return [
        Hotspot(_field(picture, area, *pair), cell.said) for pair, cell in picture.cells.items()
    ]


def paint(painter: QPainter, picture: Heat, area: QRectF, tokens: Tokens) -> None:
    """Draw the matrix into this area."""
    painter.setFont(font("caption"))
    painter.setPen(QColor(tokens.muted))
    head = QRectF(area.left(), area.top(), area.width(), LEGEND)
    painter.drawText(head, int(LEFT), f"{picture.unit}, from a row to a column")
    for name in picture.names:
        row, column = (
            _field(picture, area, name, picture.names[0]),
            _field(picture, area, picture.names[0], name),
        )
        row_name = QRectF(area.left(), row.top(), row.left() - area.left() - GRID, row.height())
        _paint_name(painter, name, row_name, tokens)
        above = QRectF(column.left(), area.top() + LEGEND, column.width(), LEGEND)
        painter.setPen(QColor(tokens.text))
        painter.drawText(above, int(_MIDDLE), _cut(painter, name, above.width()))
    known = [cell.value for cell in picture.cells.values() if cell.value]
    low, high = min(known, default=1.0), max(known, default=1.0)
    for one in picture.names:
        for other in picture.names:
            area_of = _field(picture, area, one, other).adjusted(1, 1, -1, -1)
            _paint_field(painter, picture.cells.get((one, other)), area_of, (low, high), tokens)


def _paint_name(painter: QPainter, name: str, area: QRectF, tokens: Tokens) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(tokens.device_colour(number_of(name))))
    middle = area.center().y()
    painter.drawEllipse(QRectF(area.left(), middle - _DOT, 2 * _DOT, 2 * _DOT))
    painter.setPen(QColor(tokens.text))
    words = area.adjusted(2 * _DOT + 6, 0, 0, 0)
    painter.drawText(words, int(LEFT), _cut(painter, name, words.width()))


def _paint_field(
    painter: QPainter,
    cell: Cell | None,
    area: QRectF,
    ends: tuple[float, float],
    tokens: Tokens,
) -> None:
    """A field without a figure has a dashed frame; what was not measured has a point only."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if cell is None:
        painter.setPen(QColor(tokens.muted))
        painter.drawText(area, int(_MIDDLE), "·")
        return
    ground = tokens.surface
    if cell.value:
        ground = mix(tokens.accent, tokens.surface, _strength(cell.value, *ends))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
    else:
        painter.setPen(QPen(QColor(tokens.line), 1, Qt.PenStyle.DashLine))
    painter.drawRoundedRect(area, 4, 4)
    painter.setPen(QColor(readable(tokens.text, ground, tokens.background)))
    text = area
    if cell.link and area.height() >= _TWO_LINES:
        text = area.adjusted(0, 3, 0, -area.height() / 2)
        below = area.adjusted(0, area.height() / 2, 0, -3)
        painter.drawText(below, int(_MIDDLE), _cut(painter, cell.link, area.width()))
    painter.drawText(text, int(_MIDDLE), _cut(painter, cell.text, area.width()))


def _strength(value: float, low: float, high: float) -> float:
    """How much of the accent: by the logarithm, for links differ by powers of ten."""
    if high <= low:
        return (_FAINT + _STRONG) / 2
    return _FAINT + (_STRONG - _FAINT) * math.log(value / low) / math.log(high / low)


def _field(picture: Heat, area: QRectF, one: str, other: str) -> QRectF:
    """Where the field from one to another is drawn."""
    names = _names_width(picture)
    count = len(picture.names)
    width = min((area.width() - names) / count, _WIDEST)
    height = min((area.height() - 2 * LEGEND) / count, _ROW)
    row, column = picture.names.index(one), picture.names.index(other)
    top = area.top() + 2 * LEGEND
    return QRectF(area.left() + names + column * width, top + row * height, width, height)


def _names_width(picture: Heat) -> float:
    """The width for the names of the rows."""
    metrics = QFontMetricsF(font("caption"))
    return max(metrics.horizontalAdvance(name) for name in picture.names) + 2 * _DOT + 6 + GRID


def _cut(painter: QPainter, text: str, width: float) -> str:
    metrics = QFontMetricsF(painter.font(), painter.device())
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
