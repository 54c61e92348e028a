"""Cells of tables and lists that draw themselves."""

from __future__ import annotations

from PySide6.QtCore import (
    QMarginsF,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    Qt,
)
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.palette import mix

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
        option.widget.style().drawControl(
            QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget
        )
        painter.save()
        self.draw(painter, QRectF(option.rect) - self.margins, index, text)
        painter.restore()

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw what the cell holds into its room."""
        raise NotImplementedError


_BOX = 15.0
_TICK = ((0.24, 0.52), (0.43, 0.71), (0.77, 0.31))


class CheckDelegate(QStyledItemDelegate):
    """Draws the items as the style does, and their boxes anew."""

    def __init__(self, theme: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one item; the one that the keys are about has a frame."""
        super().paint(painter, option, index)
        if option.state & QStyle.StateFlag.State_HasFocus:
            self._draw_focus(painter, option.rect)
        if index.data(Qt.ItemDataRole.CheckStateRole) is None:
            return
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        style = shown.widget.style() if shown.widget else QApplication.style()
        area = style.subElementRect(
            QStyle.SubElement.SE_ItemViewItemCheckIndicator, shown, shown.widget
        )
        checked = index.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked.value
        locked = not index.flags() & Qt.ItemFlag.ItemIsUserCheckable
        self._draw(painter, area, checked=checked, locked=locked, selected=self._is_selected(shown))

    def _draw_focus(self, painter: QPainter, area: QRect) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self._theme.tokens.accent))
        painter.drawRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        painter.restore()

    @staticmethod
    def _is_selected(option: QStyleOptionViewItem) -> bool:
        return bool(option.state & QStyle.StateFlag.State_Selected)

    def _draw(
        self, painter: QPainter, area: QRect, *, checked: bool, locked: bool, selected: bool
    ) -> None:
        tokens = self._theme.tokens
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(
            area, QColor(mix(tokens.accent, tokens.surface, 0.16) if selected else tokens.surface)
        )
        box = QRectF(0, 0, _BOX, _BOX)
        box.moveCenter(QRectF(area).center())
        filled = tokens.muted if locked else tokens.accent
        painter.setPen(QPen(QColor(filled if checked else tokens.muted), 1))
        painter.setBrush(QColor(filled if checked else tokens.raised))
        painter.drawRoundedRect(box, 4, 4)
        if checked:
            painter.setPen(QPen(QColor(tokens.surface if locked else tokens.on_accent), 1.8))
            painter.drawPolyline(
                [QPointF(box.left() + x * _BOX, box.top() + y * _BOX) for x, y in _TICK]
            )
        painter.restore()
