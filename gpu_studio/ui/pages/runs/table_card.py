"""The card of the table: what narrows it down above it, and, where nothing is left, a word and a way back."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.ui.pages.runs.filter_bar import FilterBar
from gpu_studio.ui.pages.runs.run_table import RunTable
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.labels import Label

_MIDDLE = Qt.AlignmentFlag.AlignHCenter


class TableCard(Card):
    """The filter over the table. The table keeps its place, and its selection, while nothing is found."""

    def __init__(self, bar: FilterBar, table: RunTable, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setAccessibleName("runs")
        self.body.setContentsMargins(6, 6, 6, 6)
        self.body.setSpacing(2)
        self.clear = Button("Clear the filter")
        self.clear.clicked.connect(bar.clear)
        self._bar, self._table = bar, table
        self._nothing = self._make_nothing()
        self._stack = QStackedWidget()
        self._stack.addWidget(table)
        self._stack.addWidget(self._nothing)
        self.body.addWidget(bar)
        self.body.addWidget(self._stack, 1)

    def show_found(self, found: bool) -> None:
        """Show the table, or that no run is as asked for."""
        self._stack.setCurrentWidget(self._table if found else self._nothing)

    def height_within(self, most: int) -> int:
        """As high as the filter and all rows of the table, or as many whole rows as `most` pixels hold."""
        margins = self.body.contentsMargins()
        around = margins.top() + margins.bottom() + self.body.spacing() + 2 + self._bar.sizeHint().height()
        whole = self._table.sizeHint().height()
        row = self._table.verticalHeader().defaultSectionSize()
        over = max(-(-(around + whole - most) // row), 0)
        return around + whole - over * row

    def _make_nothing(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setSpacing(GRID + 4)
        column.addStretch(1)
        column.addWidget(Label("No run is as you ask for", "title"), alignment=_MIDDLE)
        column.addWidget(Label("Ask for less, or for something else.", "muted"), alignment=_MIDDLE)
        column.addWidget(self.clear, alignment=_MIDDLE)
        column.addStretch(1)
        return made
