"""What the marks on the plots mean, each beside its picture."""

from __future__ import annotations

from typing import Final

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.plots.mark_painting import paint_marks, paint_span
from gpu_studio.ui.widgets.plots.marks import MEANINGS, MarkKind, Span, SpanKind

_ROW = 28
_PICTURE = 34
_MARKS: Final[tuple[MarkKind, ...]] = ("epoch", "checkpoint", "best", "rate", "warning", "xid", "missing", "error")
_SPANS: Final[tuple[SpanKind, ...]] = ("paused", "throttled")


class MarkKey(QWidget):
    """A list that goes with the next click, or the Escape key."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self.setFont(font("text"))
        self.setAccessibleName("What the marks mean: " + ", ".join(MEANINGS[kind] for kind in (*_MARKS, *_SPANS)))
        self.resize(self.sizeHint())

    def show_at(self, where: QPoint) -> None:
        """Open it at this point of the screen."""
        self.move(where)
        self.show()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A row for each kind."""
        widest = max(self.fontMetrics().horizontalAdvance(words) for words in MEANINGS.values())
        return QSize(widest + _PICTURE + 5 * GRID, len(MEANINGS) * _ROW + 2 * GRID)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw each kind and its words."""
        del event
        tokens, painter = self._theme.tokens, QPainter(self)
        painter.fillRect(self.rect(), QColor(tokens.surface))
        painter.setPen(QColor(tokens.line))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        for number, kind in enumerate(_MARKS):
            room = self._picture(number)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            paint_marks(painter, tokens, room, kind, np.array([room.center().x()]))
            self._paint_words(painter, number, MEANINGS[kind])
        for number, span in enumerate(_SPANS, start=len(_MARKS)):
            room = self._picture(number)
            paint_span(painter, tokens, room, Span(span, 0.0, 0.0, ""), (room.left(), room.right()))
            self._paint_words(painter, number, MEANINGS[span])

    def _picture(self, number: int) -> QRectF:
        return QRectF(2 * GRID, GRID + number * _ROW + 5, _PICTURE - GRID, _ROW - 12)

    def _paint_words(self, painter: QPainter, number: int, words: str) -> None:
        painter.setPen(QColor(self._theme.tokens.text))
        room = QRect(2 * GRID + _PICTURE, GRID + number * _ROW, self.width(), _ROW)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)
