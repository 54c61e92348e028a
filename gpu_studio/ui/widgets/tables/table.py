"""The window's one look of a table: rows without a grid, a line under each, whole rows selected."""

from __future__ import annotations

from PySide6.QtCore import Property, QAbstractItemModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QWidget

from gpu_studio.ui.theme.fonts import font

Index = QModelIndex | QPersistentModelIndex
ROW = 36
HEADER = 32


class Table(QTableView):
    """A table of whole rows. Tab leaves it; the arrow keys move in it."""

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

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """While keys come here, the current row is underlined as a whole."""
        super().paintEvent(event)
        if self.hasFocus() and self.currentIndex().isValid():
            painter = QPainter(self.viewport())
            painter.setPen(self._underline)
            bottom = self.visualRect(self.currentIndex()).bottom()
            painter.drawLine(0, bottom, self.viewport().width(), bottom)

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
        return QSize(super().sizeHint().width(), HEADER + rows * self.verticalHeader().defaultSectionSize() + 2)
