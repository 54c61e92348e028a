"""The table of all runs: its columns and their widths, its order, its keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QItemSelection, QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from gpu_studio.ui.kit.tables.table import Table
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.runs.run_cells import BestCell, CurveCell, MarkCell, RunNameCell, StateCell
from gpu_studio.ui.runs.run_order import KEYS, Order
from gpu_studio.ui.runs.run_row import RunRow
from gpu_studio.ui.runs.runs_model import (
    BEST,
    COLUMNS,
    DURATION,
    ENERGY,
    LOSS,
    MARK,
    MEMORY,
    RUN,
    STARTED,
    STATE,
    RunsModel,
)

_WIDE = {
    MARK: 40,
    RUN: 224,
    STARTED: 118,
    DURATION: 126,
    BEST: 112,
    MEMORY: 106,
    ENERGY: 78,
    LOSS: 140,
}
_NARROW = {
    MARK: 36,
    RUN: 200,
    STARTED: 112,
    DURATION: 126,
    BEST: 110,
    MEMORY: 108,
    ENERGY: 76,
    LOSS: 96,
}
_ENOUGH = 1040
_ROOMY_RUNS = ((1400, 360), (1200, 260))
"""From so many pixels on the names of runs have so many, before the state gets all that is left."""
_ROW = 28
_GREATEST_FIRST = frozenset(("started", "duration", "best", "memory", "energy"))
_WHOLE_ROWS = QItemSelectionModel.SelectionFlag.Rows


class RunTable(Table):
    """Several runs can be selected.

    Return and a double click open the current one, Delete deletes the selected ones.
    """

    opened = Signal()
    deleted = Signal()
    rename_pressed = Signal()
    tag_pressed = Signal()
    note_pressed = Signal()
    copied = Signal()
    order_changed = Signal(object)

    def __init__(
        self, theme: ThemeManager, model: RunsModel, parent: QWidget | None = None
    ) -> None:
        super().__init__(model, "all runs", parent)
        self._runs = model
        self._chosen: dict[int, int] = {}
        self._placing = False
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.set_row_height(_ROW)
        cells = {
            MARK: MarkCell,
            RUN: RunNameCell,
            STATE: StateCell,
            BEST: BestCell,
            LOSS: CurveCell,
        }
        for column, cell in cells.items():
            self.setItemDelegateForColumn(column, cell(theme, self))
        self._prepare_header()
        self.doubleClicked.connect(self.opened)
        theme.changed.connect(self.viewport().update)

    @property
    def chosen(self) -> list[RunRow]:
        """The selected runs, in the table's order."""
        # By ranges: asking for each of a thousand rows takes longer than a frame.
        stretches = self.selectionModel().selection().toList()
        rows = {row for stretch in stretches for row in range(stretch.top(), stretch.bottom() + 1)}
        return [self._runs.rows[row] for row in sorted(rows)]

    @property
    def widths(self) -> dict[str, int]:
        """The user's widths of columns, by the columns' names."""
        return {COLUMNS[column]: width for column, width in self._chosen.items()}

    def set_chosen_widths(self, widths: Mapping[str, int]) -> None:
        """Restore the user's widths of columns."""
        self._chosen = {
            COLUMNS.index(name): width for name, width in widths.items() if name in COLUMNS
        }
        self._place_columns()

    def choose(self, runs: Sequence[str]) -> None:
        """Select the shown runs with these ids, and go to the first of them."""
        rows = [row for run in runs if (row := self._runs.row_of(run)) is not None]
        if not rows:
            return
        selection = QItemSelection()
        for row in rows:
            selection.select(self._runs.index(row, MARK), self._runs.index(row, LOSS))
        self.selectionModel().setCurrentIndex(self._runs.index(rows[0], RUN), _NOTHING)
        self.selectionModel().select(
            selection, QItemSelectionModel.SelectionFlag.ClearAndSelect | _WHOLE_ROWS
        )

    def begin_at(self, run: str) -> None:
        """Go to the run with this id without selecting it."""
        if (row := self._runs.row_of(run)) is not None:
            self.selectionModel().setCurrentIndex(self._runs.index(row, RUN), _NOTHING)

    def set_order(self, order: Order) -> None:
        """Show the runs in this order, and say so in the header."""
        self._runs.set_order(order)
        way = Qt.SortOrder.DescendingOrder if order.descending else Qt.SortOrder.AscendingOrder
        self.horizontalHeader().setSortIndicator(COLUMNS.index(order.column), way)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """The keys of a list of files."""
        reported = _KEYS.get(
            (Qt.Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier)
        )
        if reported is None:
            super().keyPressEvent(event)
            return
        if not self.selectionModel().hasSelection() and self.currentIndex().isValid():
            # The underlined row is the one that counts.
            self.choose_row(self.currentIndex().row())
        getattr(self, reported).emit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Narrow columns in a narrow window, but for those that a person made as wide as they are.

        One gives way.
        """
        super().resizeEvent(event)
        self._place_columns()
        if (
            event.size().height() < event.oldSize().height()
            and self.selectionModel().hasSelection()
        ):
            # The selected row may now be below the edge.
            self.scrollTo(self.currentIndex())

    def _prepare_header(self) -> None:
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.setMinimumSectionSize(_NARROW[MARK])
        header.setSectionResizeMode(STATE, QHeaderView.ResizeMode.Stretch)
        header.setStretchLastSection(False)
        header.sectionClicked.connect(self._sort_by)
        header.sectionResized.connect(self._keep_width)
        self.set_order(self._runs.order)

    def _sort_by(self, column: int) -> None:
        """Sort by this column; the second time, in the other direction."""
        name, now = COLUMNS[column], self._runs.order
        name = "state" if column == MARK else name
        if name not in KEYS:
            self.set_order(now)
            return
        down = not now.descending if now.column == name else name in _GREATEST_FIRST
        self.set_order(Order(name, down))
        self.order_changed.emit(self._runs.order)

    def _keep_width(self, column: int, _before: int, width: int) -> None:
        if not self._placing and column != STATE:
            self._chosen[column] = width

    def _place_columns(self) -> None:
        self._placing = True
        wide = self.width() >= _ENOUGH
        usual = _WIDE if wide else _NARROW
        roomy = next((width for least, width in _ROOMY_RUNS if self.width() >= least), usual[RUN])
        self.setColumnHidden(STARTED, not wide)
        for column, width in {**usual, RUN: roomy, **self._chosen}.items():
            if self.columnWidth(column) != width:
                self.setColumnWidth(column, width)
        self._placing = False


_NOTHING = QItemSelectionModel.SelectionFlag.NoUpdate
_PLAIN, _CTRL = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
_KEYS = {
    (Qt.Key.Key_Return, _PLAIN): "opened",
    (Qt.Key.Key_Enter, _PLAIN): "opened",
    (Qt.Key.Key_Delete, _PLAIN): "deleted",
    (Qt.Key.Key_F2, _PLAIN): "rename_pressed",
    (Qt.Key.Key_T, _PLAIN): "tag_pressed",
    (Qt.Key.Key_N, _PLAIN): "note_pressed",
    (Qt.Key.Key_C, _CTRL): "copied",
}
