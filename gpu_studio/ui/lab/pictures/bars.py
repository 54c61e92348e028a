"""Bars on one scale, with their figures at the right and a line that they are held against."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen

from gpu_studio.lab.benchmark_pictures import Bar, Bars
from gpu_studio.ui.kit import GRID, LEFT, RIGHT, Tokens, font, mix
from gpu_studio.ui.lab.pictures.drawing import LEGEND, Hotspot, number_of

_ROW, _LEAST_ROW, _BAR = 36.0, 20.0, 0.55
_MOST_LABEL = 0.36


def least_height(picture: Bars) -> float:
    """The pixels in which all bars can be distinguished."""
    return len(picture.bars) * _LEAST_ROW + (LEGEND if picture.ideal is not None else 0)


def usual_height(picture: Bars) -> float:
    """The pixels beyond which they would only lie further apart."""
    return len(picture.bars) * _ROW + (LEGEND if picture.ideal is not None else 0)


def spots(picture: Bars, area: QRectF) -> list[Hotspot]:
    """A place for each bar."""
    rows = zip(picture.bars, _rows(picture, area), strict=True)
    return [Hotspot(row, f"{bar.label}: {bar.text}") for bar, row in rows]


def paint(painter: QPainter, picture: Bars, area: QRectF, tokens: Tokens) -> None:
    """Draw the bars into this area."""
    painter.setFont(font("caption"))
    metrics = QFontMetricsF(painter.font(), painter.device())
    label = min(
        max(metrics.horizontalAdvance(bar.label) for bar in picture.bars) + 2,
        area.width() * _MOST_LABEL,
    )
    figure = max(metrics.horizontalAdvance(bar.text) for bar in picture.bars) + 2
    left, right = area.left() + label + 2 * GRID, area.right() - figure - 2 * GRID
    most = max([bar.value for bar in picture.bars] + [picture.ideal or 0.0]) or 1.0
    for bar, row in zip(picture.bars, _rows(picture, area), strict=True):
        trough = QRectF(left, 0, max(right - left, 1), row.height() * _BAR)
        trough.moveTop(row.center().y() - trough.height() / 2)
        _paint_bar(painter, bar, trough, bar.value / most, tokens)
        painter.setPen(QColor(tokens.muted))
        words = QRectF(row.left(), row.top(), label, row.height())
        cut = metrics.elidedText(bar.label, Qt.TextElideMode.ElideRight, label)
        painter.drawText(words, int(LEFT), cut)
        painter.setPen(QColor(tokens.text))
        painter.drawText(row, int(RIGHT), bar.text)
    if picture.ideal is not None:
        x = left + max(right - left, 1) * picture.ideal / most
        _paint_ideal(
            painter, picture, QRectF(area.left(), area.top(), right, area.height()), x, tokens
        )


def _rows(picture: Bars, area: QRectF) -> list[QRectF]:
    top = area.top() + (LEGEND if picture.ideal is not None else 0)
    whole = area.bottom() - top
    height = min(_ROW, whole / max(len(picture.bars), 1))
    return [
        QRectF(area.left(), top + place * height, area.width(), height)
        for place in range(len(picture.bars))
    ]


def _paint_bar(painter: QPainter, bar: Bar, trough: QRectF, share: float, tokens: Tokens) -> None:
    """A part is hatched, so that it differs from the whole by more than its colour."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(tokens.raised))
    painter.drawRoundedRect(trough, 4, 4)
    filled = QRectF(trough)
    filled.setWidth(max(trough.width() * share, 2.0))
    colour = tokens.device_colour(number_of(bar.device)) if bar.device else tokens.accent
    if bar.part:
        painter.setBrush(QColor(mix(colour, tokens.surface, 0.35)))
        painter.drawRoundedRect(filled, 4, 4)
        painter.setBrush(QBrush(QColor(colour), Qt.BrushStyle.BDiagPattern))
    else:
        painter.setBrush(QColor(colour))
    painter.drawRoundedRect(filled, 4, 4)


def _paint_ideal(painter: QPainter, picture: Bars, area: QRectF, x: float, tokens: Tokens) -> None:
    rows = _rows(picture, area)
    painter.setPen(QPen(QColor(tokens.text), 1.4, Qt.PenStyle.DashLine))
    painter.drawLine(QPointF(x, rows[0].top() - 2), QPointF(x, rows[-1].bottom()))
    painter.setPen(QColor(tokens.text))
    words = QRectF(area.left(), area.top(), x - area.left(), LEGEND - 4)
    painter.drawText(words, int(RIGHT), picture.ideal_name)
