"""How a run is drawn in a table: its state's icon and its name, and its metric as a small curve."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gpu_studio.runs.summary import Summary
from gpu_studio.ui.models.runs_model import RUN, STATE, SUMMARY_ROLE
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.icons import coloured_icon
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.states import ICONS, state_colour

Index = QModelIndex | QPersistentModelIndex
_ICON = 14
_SIDE = 12
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft


class RunCell(QStyledItemDelegate):
    """The cells of the columns Run and State, which say by icon, word and colour how the run is."""

    def __init__(self, theme: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the cell."""
        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        option.widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        summary: Summary = index.data(SUMMARY_ROLE)
        room = QRectF(option.rect).adjusted(_SIDE, 0, -_SIDE, -2)
        painter.save()
        if index.column() == RUN:
            room = self._draw_icon(painter, room, summary)
        painter.setFont(font("strong" if index.column() == RUN else "text"))
        painter.setPen(QColor(self._colour(summary, index.column())))
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, _LEFT, shown)
        painter.restore()

    def _draw_icon(self, painter: QPainter, room: QRectF, summary: Summary) -> QRectF:
        icon = coloured_icon(ICONS[summary.state], state_colour(summary.state, self._theme.tokens))
        place = QRectF(room.left(), room.center().y() - _ICON / 2, _ICON, _ICON)
        icon.paint(painter, place.toAlignedRect())
        return room.adjusted(_ICON + 12, 0, 0, 0)

    def _colour(self, summary: Summary, column: int) -> str:
        tokens = self._theme.tokens
        if column == STATE:
            return tokens.bad if summary.state in ("failed", "lost") else tokens.muted
        return tokens.text


class CurveCell(QStyledItemDelegate):
    """The run's metric of each epoch as a line, from its least to its greatest value."""

    def __init__(self, theme: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the cell."""
        super().paint(painter, option, index)
        summary: Summary = index.data(SUMMARY_ROLE)
        line = curve_in(summary.curve, QRectF(option.rect).adjusted(_SIDE, 9, -_SIDE, -9))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.tokens.muted), 1.4))
        painter.drawPolyline(line)
        painter.restore()


def curve_in(values: Sequence[float], room: QRectF) -> QPolygonF:
    """The points of the curve in `room`, at most two a pixel; a single value is a level line."""
    step = max(1, len(values) // max(1, int(2 * room.width())))
    known = [value for value in values[::step] if math.isfinite(value)]
    if not known:
        return QPolygonF()
    if len(known) == 1:
        known = known * 2
    least, span = min(known), (max(known) - min(known)) or 1.0
    across = room.width() / (len(known) - 1)
    return QPolygonF(
        [
            QPointF(room.left() + place * across, room.bottom() - (value - least) / span * room.height())
            for place, value in enumerate(known)
        ]
    )
