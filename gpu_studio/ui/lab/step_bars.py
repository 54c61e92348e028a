"""Bars of where the time of a step goes, one below the other, to the scale of the longest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gpu_studio.common.figures import share, span
from gpu_studio.lab.study_picture import StepParts
from gpu_studio.runs.studies import COMMUNICATION, COMPUTING, IDLE, INPUT, NOT_APART
from gpu_studio.ui.kit import GRID, LEFT, RIGHT, ThemeManager, Tokens, contrast, font, mix
from gpu_studio.ui.lab.legend_flow import LINE, Flow, flow

NOT_MEASURED: Final = "not measured"
ORDER: Final = (COMPUTING, NOT_APART, COMMUNICATION, INPUT, IDLE)
_COLOURS: Final = {COMPUTING: 0, COMMUNICATION: 1, INPUT: 2, IDLE: 3}
_HEAD, _ROW, _BAR, _RADIUS, _SQUARE = 26.0, 27.0, 18.0, 3.0, 9.0
_MOST_OF_WIDTH: Final = 0.34
_TITLE: Final = "Where a step's time goes"


class StepBars(QWidget):
    """Shows the parts of each step; `description` is all of it in words."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: tuple[StepParts, ...] = ()
        self.setAccessibleName(_TITLE)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def description(self) -> str:
        """What is drawn, in words."""
        return "; ".join(f"{row.label}: {_in_words(row)}" for row in self._rows)

    def show_parts(self, rows: Sequence[StepParts]) -> None:
        """Draw these."""
        if tuple(rows) != self._rows:
            self._rows = tuple(rows)
            self.setAccessibleDescription(self.description or NOT_MEASURED)
            self.setFixedHeight(self.sizeHint().height())
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """All rows."""
        return QSize(300, int(self._head + max(1, len(self._rows)) * _ROW))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Give the legend a line of its own where it does not fit beside the title."""
        super().resizeEvent(event)
        self.setFixedHeight(self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the legend, and the rows."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_head(painter)
        painter.setFont(font("caption"))
        if not self._rows:
            painter.setPen(QColor(self._theme.tokens.muted))
            line = QRectF(0, self._head, self.width(), _ROW)
            painter.drawText(line, int(LEFT), "Nothing has been measured yet.")
        for number, row in enumerate(self._rows):
            self._paint_row(painter, row, self._head + number * _ROW)

    def event(self, event: QEvent) -> bool:
        """Say the parts of the row under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            row = int((event.pos().y() - self._head) // _ROW)
            inside = 0 <= row < len(self._rows)
            words = f"{self._rows[row].label}: {_in_words(self._rows[row])}" if inside else ""
            QToolTip.showText(event.globalPos(), words, self)
            return True
        return super().event(event)

    @property
    def _names(self) -> list[str]:
        return [name for name in ORDER if any(row.parts.get(name) for row in self._rows)]

    @property
    def _flow(self) -> Flow:
        letters = QFontMetricsF(font("caption"))
        widths = [letters.horizontalAdvance(name) + _SQUARE + 3 * GRID for name in self._names]
        title = QFontMetricsF(font("title")).horizontalAdvance(_TITLE) + 2 * GRID
        return flow(title, widths, self.width() + 2 * GRID, right=True)

    @property
    def _head(self) -> float:
        """The height of the title, and of the legend where that does not fit beside it."""
        return _HEAD + (self._flow.lines - 1) * LINE

    def _paint_head(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        area = QRectF(0, 0, self.width(), _HEAD - GRID / 2)
        painter.setFont(font("title"))
        painter.setPen(QColor(tokens.text))
        painter.drawText(area, int(LEFT), _TITLE)
        painter.setFont(font("caption"))
        for name, (x, line) in zip(self._names, self._flow.places, strict=True):
            entry = area.adjusted(x + _SQUARE + GRID - 2, line * LINE, 0, line * LINE)
            square = QRectF(x, entry.center().y() - _SQUARE / 2, _SQUARE, _SQUARE)
            painter.fillRect(square, QColor(_colour(name, tokens)))
            painter.setPen(QColor(tokens.muted))
            painter.drawText(entry, int(LEFT), name)

    def _paint_row(self, painter: QPainter, row: StepParts, top: float) -> None:
        tokens, letters = self._theme.tokens, QFontMetricsF(font("caption"))
        names = max(letters.horizontalAdvance(each.label) for each in self._rows)
        figures = max(letters.horizontalAdvance(span(each.seconds or None)) for each in self._rows)
        left = min(names, self.width() * _MOST_OF_WIDTH) + 2 * GRID
        area = QRectF(0, top, self.width(), _ROW)
        painter.setPen(QColor(tokens.muted))
        label = letters.elidedText(row.label, Qt.TextElideMode.ElideRight, left - GRID)
        painter.drawText(area, int(LEFT), label)
        if not row.parts:
            painter.drawText(area.adjusted(left, 0, 0, 0), int(LEFT), NOT_MEASURED)
            return
        painter.setPen(QColor(tokens.text))
        painter.drawText(area, int(RIGHT), span(row.seconds))
        width = area.width() - left - figures - 2 * GRID
        bar = QRectF(left, area.center().y() - _BAR / 2, max(10.0, width), _BAR)
        path = QPainterPath()
        path.addRoundedRect(bar, _RADIUS, _RADIUS)
        painter.fillPath(path, QColor(tokens.raised))
        painter.save()
        painter.setClipPath(path)
        self._paint_parts(painter, row, bar)
        painter.restore()

    def _paint_parts(self, painter: QPainter, row: StepParts, bar: QRectF) -> None:
        tokens, letters = self._theme.tokens, QFontMetricsF(font("caption"))
        longest = max(each.seconds for each in self._rows)
        x = bar.left()
        for name in ORDER:
            seconds = row.parts.get(name, 0.0)
            wide = seconds / longest * bar.width() if longest > 0 else 0.0
            if wide <= 0:
                continue
            colour = _colour(name, tokens)
            part = QRectF(QPointF(x, bar.top()), QPointF(x + wide, bar.bottom()))
            painter.fillRect(part, QColor(colour))
            words = share(seconds / row.seconds)
            if letters.horizontalAdvance(words) + GRID < wide:
                inks = sorted(
                    (tokens.on_accent, tokens.text, tokens.surface),
                    key=lambda ink: contrast(ink, colour),
                )
                painter.setPen(QColor(inks[-1]))
                painter.drawText(part, int(Qt.AlignmentFlag.AlignCenter), words)
            x += wide


def _colour(name: str, tokens: Tokens) -> str:
    if name == NOT_APART:
        return mix(tokens.device_colour(0), tokens.surface, 0.55)
    return tokens.device_colour(_COLOURS[name])


def _in_words(row: StepParts) -> str:
    if not row.parts:
        return NOT_MEASURED
    parts = (f"{name} {span(row.parts[name])}" for name in ORDER if row.parts.get(name))
    return f"{span(row.seconds)} a step, {', '.join(parts)}"
