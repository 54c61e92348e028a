"""A cell of a table that draws by itself what it holds, on the ground that the style gives it."""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, QModelIndex, QObject, QPersistentModelIndex, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gpu_studio.ui.theme.manager import ThemeManager

Index = QModelIndex | QPersistentModelIndex
SIDE = 12


class PaintedCell(QStyledItemDelegate):
    """Draws the empty cell as the style has it, then what it holds, within `margins`, in pixels."""

    margins = QMarginsF(SIDE, 0, SIDE, 2)

    def __init__(self, theme: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the cell."""
        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        option.widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        painter.save()
        self.draw(painter, QRectF(option.rect) - self.margins, index, text)
        painter.restore()

    def draw(self, painter: QPainter, room: QRectF, index: Index, text: str) -> None:
        """Draw what the cell holds into its room."""
        raise NotImplementedError
