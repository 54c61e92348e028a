"""The window's table: the view, a model of plain words, and cells that draw themselves.

Rows have no grid and a line below each; whole rows are selected and copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import (
    Property,
    QAbstractItemModel,
    QAbstractTableModel,
    QItemSelectionModel,
    QMarginsF,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFrame,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionHeader,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from gpu_studio.ui.kit.theme import ThemeManager, font, mix


def rows_as_text(table: QTableView) -> str:
    """The headings and the selected rows of a table, or all rows if none is selected."""
    chosen = sorted(index.row() for index in table.selectionModel().selectedRows())
    return model_as_text(table.model(), chosen or range(table.model().rowCount()))


def model_as_text(model: QAbstractItemModel, rows: Sequence[int]) -> str:
    """The headings and these rows of a model, a line each, their cells apart by tabs."""
    columns = range(model.columnCount())
    across = Qt.Orientation.Horizontal
    headings = [str(model.headerData(column, across)) for column in columns]
    cells = ([str(model.index(row, column).data()) for column in columns] for row in rows)
    return "\n".join("\t".join(line) for line in (headings, *cells))


Index = QModelIndex | QPersistentModelIndex
ROW = 36
HEADER = 32
PADDING = 12
"""Pixels at either side of a heading, as the style sheet has them."""
COPY = "Copy rows"
_ARROW = (7.0, 3.5)


class Heading(QHeaderView):
    """The headings of a table's columns.

    The arrow of the sorted one stands in its padding, clear of its text.

    So a heading that is aligned right stays over its figures; Qt would draw the arrow over the end
    of its text.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._arrow = QColor()
        self.setSectionsClickable(True)

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, at: int) -> None:  # noqa: N802
        """Let the style draw no arrow."""
        super().initStyleOptionForIndex(option, at)
        option.sortIndicator = QStyleOptionHeader.SortIndicator.None_

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:  # noqa: N802
        """Draw the heading, and the arrow if its column is the sorted one."""
        painter.save()
        super().paintSection(painter, rect, section)
        painter.restore()
        if not self.isSortIndicatorShown() or section != self.sortIndicatorSection():
            return
        wide, high = _ARROW
        area = QRectF(0, 0, wide, high)
        area.moveCenter(QPointF(rect.right() + 1 - PADDING / 2, rect.center().y() + 0.5))
        # As the style does it: the arrow points up where the greatest comes first.
        up = self.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        ends, tip = (area.bottom(), area.top()) if up else (area.top(), area.bottom())
        points = [
            QPointF(area.left(), ends),
            QPointF(area.center().x(), tip),
            QPointF(area.right(), ends),
        ]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._arrow)
        painter.drawPolygon(points)
        painter.restore()

    def _colour_of_arrow(self) -> QColor:
        return self._arrow

    def _set_colour_of_arrow(self, colour: QColor) -> None:
        self._arrow = QColor(colour)
        self.viewport().update()

    # The style sheet sets it, and again with each theme.
    arrow = Property(QColor, _colour_of_arrow, _set_colour_of_arrow)


class Table(QTableView):
    """A table of whole rows. Tab leaves it; the arrow keys move in it.

    Ctrl+C and the menu copy the selected rows.
    """

    def __init__(self, model: QAbstractItemModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._underline = QColor()
        self.setModel(model)
        self.setAccessibleName(name)
        self.setFont(font("text"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._shape_headers()

    def _shape_headers(self) -> None:
        self.setHorizontalHeader(Heading(self))
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW)
        self.verticalHeader().setMinimumSectionSize(ROW)
        header = self.horizontalHeader()
        header.setFixedHeight(HEADER)
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def set_row_height(self, height: int) -> None:
        """Make every row this high, in pixels."""
        self.verticalHeader().setMinimumSectionSize(height)
        self.verticalHeader().setDefaultSectionSize(height)

    def set_widths(self, widths: dict[int, int], stretch: int) -> None:
        """Give columns these widths in pixels, and `stretch` what is left."""
        for column, width in widths.items():
            self.setColumnWidth(column, width)
        self.horizontalHeader().setStretchLastSection(False)
        self.horizontalHeader().setSectionResizeMode(stretch, QHeaderView.ResizeMode.Stretch)

    def choose_row(self, row: int) -> None:
        """Select this row and no other, whatever keys are held.

        Qt's `selectRow` takes Shift for a wish to extend.
        """
        whole = (
            QItemSelectionModel.SelectionFlag.ClearAndSelect
            | QItemSelectionModel.SelectionFlag.Rows
        )
        self.selectionModel().setCurrentIndex(self.model().index(row, 0), whole)

    def copy_rows(self) -> None:
        """Copy the selected rows, or all if none is selected, in a form for spreadsheets."""
        QGuiApplication.clipboard().setText(rows_as_text(self))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Ctrl+C takes whole rows, as they are selected, where Qt would take the cell."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_rows()
        else:
            super().keyPressEvent(event)

    def moveCursor(  # noqa: N802 - Qt's name
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Home and End lead to the first and the last row, as in a list: rows are chosen here."""
        moves = QAbstractItemView.CursorAction
        rows = {moves.MoveHome: 0, moves.MoveEnd: self.model().rowCount() - 1}
        if action not in rows:
            return super().moveCursor(action, modifiers)
        return self.model().index(rows[action], max(self.currentIndex().column(), 0))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Offer to copy, where a table has no menu of its own."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(COPY).triggered.connect(self.copy_rows)
        menu.popup(event.globalPos())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """While keys come here, the current row is underlined as a whole.

        Where there is none, all has a frame.
        """
        super().paintEvent(event)
        if not self.hasFocus():
            return
        painter = QPainter(self.viewport())
        painter.setPen(self._underline)
        if self.currentIndex().isValid():
            bottom = self.visualRect(self.currentIndex()).bottom()
            painter.drawLine(0, bottom, self.viewport().width(), bottom)
        else:
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def _colour_of_underline(self) -> QColor:
        return self._underline

    def _set_colour_of_underline(self, colour: QColor) -> None:
        self._underline = QColor(colour)
        self.viewport().update()

    # The style sheet sets it, and again with each theme.
    underline = Property(QColor, _colour_of_underline, _set_colour_of_underline)

    def currentChanged(self, current: Index, previous: Index) -> None:  # noqa: N802 - Qt's name
        """Draw the rows, and not only the cells, that are no longer and now the current ones."""
        super().currentChanged(current, previous)
        self.viewport().update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As high as all its rows."""
        rows = self.model().rowCount() if self.model() is not None else 0
        return QSize(
            super().sizeHint().width(),
            HEADER + rows * self.verticalHeader().defaultSectionSize() + 2,
        )


SORT_ROLE = Qt.ItemDataRole.UserRole + 1
T = TypeVar("T")
_ROOT = QModelIndex()
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class PlainTable(QAbstractTableModel, Generic[T]):
    """Rows of any kind; a subclass gives the text of each cell.

    Rows are identified by `key`.
    """

    headers: tuple[str, ...] = ()
    right: frozenset[int] = frozenset()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[T, ...] = ()

    def key(self, row: T) -> Any:
        """The part of a row that stays when its text changes."""
        raise NotImplementedError

    def text(self, row: T, column: int) -> str:
        """The words of a cell."""
        raise NotImplementedError

    def order(self, row: T, column: int) -> Any:
        """The value that a column is sorted by; by default its text."""
        return self.text(row, column)

    def set_rows(self, rows: Sequence[T]) -> None:
        """Show these rows. The selection survives if the same rows are still there."""
        new = tuple(rows)
        if new == self.rows:
            return
        same = [self.key(row) for row in new] == [self.key(row) for row in self.rows]
        if not same:
            self.beginResetModel()
        self.rows = new
        if not same:
            self.endResetModel()
        elif new:
            self.dataChanged.emit(self.index(0, 0), self.index(len(new) - 1, len(self.headers) - 1))

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are rows."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are headers."""
        return 0 if parent.isValid() else len(self.headers)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The names of the columns."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section in self.right:
            return _RIGHT
        return self.headers[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The words of a cell, and how it is sorted."""
        if not index.isValid():
            return None
        row, column = self.rows[index.row()], index.column()
        if role in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.AccessibleTextRole,
            Qt.ItemDataRole.ToolTipRole,
        ):
            return self.text(row, column)
        if role == SORT_ROLE:
            return self.order(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in self.right:
            return _RIGHT
        return None


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
        """Draw what the cell holds into its area."""
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
