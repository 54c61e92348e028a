"""The card with a result's rows, and with what has changed from another result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.common.figures import plural, span
from gpu_studio.lab.benchmark_figures import (
    HEADINGS,
    OPERATION_HEADINGS,
    operation_words,
    row_words,
)
from gpu_studio.lab.benchmarks import BenchmarkRow, RowChange
from gpu_studio.ui.kit import GRID, Button, CardFrame, Paragraph, PlainTable, SteadyTabs, Table

NOISE = "within the noise"
_ROW, _LEAST = 28, 176
_OF_CHANGES = ("What", "Size", "Times as fast", "Before", "After", "Type", "Devices")


class RowsModel(PlainTable[BenchmarkRow]):
    """The rows of a result, in words; of what was placed by hand, who executed each."""

    headers: tuple[str, ...] = HEADINGS
    right = frozenset({3, 5, 6})

    def set_rows(self, rows: Sequence[BenchmarkRow]) -> None:
        """Show these rows, below the headings of their kind."""
        by_hand = any(row.name for row in rows)
        headers: tuple[str, ...] = OPERATION_HEADINGS if by_hand else HEADINGS
        if headers != self.headers:
            self.beginResetModel()
            self.rows, self.headers = (), headers
            self.right = frozenset({3, 4} if by_hand else {3, 5, 6})
            self.endResetModel()
        super().set_rows(rows)

    def key(self, row: BenchmarkRow) -> object:
        """What was measured."""
        return row.key

    def text(self, row: BenchmarkRow, column: int) -> str:
        """The words of a cell."""
        words = operation_words if self.headers == OPERATION_HEADINGS else row_words
        return words(row)[column]


class ChangesModel(PlainTable[RowChange]):
    """What two results have both measured; a difference within the noise is called that."""

    headers = _OF_CHANGES
    right = frozenset({1, 2, 3, 4})

    def key(self, row: RowChange) -> object:
        """What was measured."""
        return row.after.key

    def text(self, row: RowChange, column: int) -> str:
        """The words of a cell."""
        ratio = f"{row.ratio:.2f} ×" if row.is_clear else NOISE
        seconds = (span(row.before.middle), span(row.after.middle))
        what, devices, dtype, amount, *_ = row_words(row.after)
        return (what, amount, ratio, *seconds, dtype, devices)[column]


class RowsCard(CardFrame):
    """Two tabs: what was measured, and, once two results are compared, what has changed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("What was measured")
        self.setMinimumHeight(_LEAST)
        self.rows, self.changes = RowsModel(self), ChangesModel(self)
        self.table = Table(self.rows, "What was measured")
        self.compared = Table(self.changes, "What has changed")
        self.said = Paragraph("", "muted")
        self.tabs = SteadyTabs("Measured, or compared")
        self.done = Button("Compare no more", "quiet", small=True)
        self.done.clicked.connect(self.end_comparison)
        self._pages = QStackedWidget()
        self._lay_out()

    @property
    def comparing(self) -> bool:
        """Whether two results are compared."""
        return self.tabs.count() > 1

    def show_rows(self, rows: Sequence[BenchmarkRow]) -> None:
        """Show these rows."""
        self.rows.set_rows(rows)
        _fit(self.table, self.rows)

    def show_changes(
        self, words: str, changes: Sequence[RowChange], machine: Sequence[str]
    ) -> None:
        """Show what has changed, the most first; `machine` is what else differs."""
        clear = [each for each in changes if each.is_clear]
        many = (
            f"{len(clear)} of {plural(len(changes), 'measurement')} differ by more than the noise"
        )
        self.said.setText(" · ".join((many, *machine)))
        order = sorted(changes, key=lambda each: (not each.is_clear, each.ratio))
        self.changes.set_rows(order)
        _fit(self.compared, self.changes)
        if not self.comparing:
            self.tabs.addTab("")
        self.tabs.setTabText(1, words)
        self.tabs.setCurrentIndex(1)

    def end_comparison(self) -> None:
        """Show the rows alone."""
        if self.comparing:
            self.tabs.removeTab(1)
        self._follow()

    def _lay_out(self) -> None:
        self.body.setContentsMargins(2 * GRID - 4, GRID, 2 * GRID - 4, GRID)
        for table in (self.table, self.compared):
            table.set_row_height(_ROW)
            table.horizontalHeader().setStretchLastSection(True)
        self.tabs.addTab("Rows")
        self.tabs.currentChanged.connect(self._follow)
        head = QHBoxLayout()
        head.addWidget(self.tabs)
        head.addStretch(1)
        head.addWidget(self.done)
        self.body.addLayout(head)
        both = QWidget()
        inside = QVBoxLayout(both)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.addWidget(self.said)
        inside.addWidget(self.compared, 1)
        self._pages.addWidget(self.table)
        self._pages.addWidget(both)
        self.body.addWidget(self._pages, 1)
        self._follow()

    def _follow(self) -> None:
        self._pages.setCurrentIndex(max(self.tabs.currentIndex(), 0))
        self.done.setVisible(self.comparing)


def _fit(table: Table, model: PlainTable[Any]) -> None:
    """Make the columns as wide as their words, and hide those that have none."""
    for column in range(len(model.headers)):
        table.setColumnHidden(column, not any(model.text(row, column) for row in model.rows))
    table.resizeColumnsToContents()
