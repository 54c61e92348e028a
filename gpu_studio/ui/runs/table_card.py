"""The table's card: the filter above the table, or a message if nothing matches."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.card import CardFrame
from gpu_studio.ui.kit.labels import Label
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.runs.filter_bar import FilterBar
from gpu_studio.ui.runs.run_table import RunTable

_MIDDLE = Qt.AlignmentFlag.AlignHCenter


class TableCard(CardFrame):
    """The filter above the table.

    The table keeps its place, and its selection, while nothing is found.
    """

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
        """Show the table, or that no run matches."""
        self._stack.setCurrentWidget(self._table if found else self._nothing)

    def height_within(self, most: int) -> int:
        """Return the height of the filter and all rows of the table.

        If that exceeds `most` pixels, it has as many whole rows as fit.
        """
        margins = self.body.contentsMargins()
        around = (
            margins.top()
            + margins.bottom()
            + self.body.spacing()
            + 2
            + self._bar.sizeHint().height()
        )
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
