"""How a device is drawn in a table: its dot and name, and its memory as a bar with the figures beside it."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gpu_studio.ui.models.devices_model import ROW_ROLE, DeviceRow
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.bar import draw_bar

Index = QModelIndex | QPersistentModelIndex
_SIDE = 12
_BAR = 130
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft


class _Cell(QStyledItemDelegate):
    """Draws the empty cell as the style has it, then what it holds."""

    def __init__(self, theme: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the cell."""
        self.initStyleOption(option, index)
        option.text = ""
        option.widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        row: DeviceRow = index.data(ROW_ROLE)
        painter.save()
        self._draw(painter, QRectF(option.rect).adjusted(_SIDE, 0, -_SIDE, -2), row)
        painter.restore()

    def _colour(self, row: DeviceRow) -> str:
        tokens = self._theme.tokens
        return tokens.host if row.place is None else tokens.device_colour(row.place)

    def _write(self, painter: QPainter, room: QRectF, text: str, colour: str) -> None:
        painter.setPen(QColor(colour))
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, _LEFT, shown)

    def _draw(self, painter: QPainter, room: QRectF, row: DeviceRow) -> None:
        raise NotImplementedError


class NameCell(_Cell):
    """The dot in the device's colour, its name, and what it is."""

    def _draw(self, painter: QPainter, room: QRectF, row: DeviceRow) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._colour(row)))
        painter.drawEllipse(QPointF(room.left() + 4, room.center().y()), 4, 4)
        painter.setFont(font("strong"))
        name = room.adjusted(22, 0, 0, 0)
        self._write(painter, name, row.name, self._theme.tokens.text)
        detail = name.adjusted(painter.fontMetrics().horizontalAdvance(row.name) + 8, 0, 0, 0)
        painter.setFont(font("text"))
        self._write(painter, detail, row.detail, self._theme.tokens.muted)


class MemoryCell(_Cell):
    """The bar, where it is known how much is in use, and the figures."""

    def _draw(self, painter: QPainter, room: QRectF, row: DeviceRow) -> None:
        tokens = self._theme.tokens
        if row.share is not None:
            draw_bar(
                painter, QRectF(room.left(), room.top(), _BAR, room.height()), row.share, self._colour(row), tokens
            )
            room = room.adjusted(_BAR + 12, 0, 0, 0)
        self._write(painter, room, row.memory, tokens.text if row.total_mib else tokens.muted)
