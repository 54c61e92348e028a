"""All runs as rows of a table, filtered and in order. The list is the truth: the table is told of each difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from gpu_studio.runs import wording
from gpu_studio.ui.models.figures import metric_label
from gpu_studio.ui.models.row_changes import change_rows
from gpu_studio.ui.models.runs import run_words
from gpu_studio.ui.models.runs.run_filter import RunFilter
from gpu_studio.ui.models.runs.run_order import KEYS, Order, arranged
from gpu_studio.ui.models.runs.run_row import RunRow

Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("mark", "run", "state", "started", "duration", "best", "memory", "energy", "loss")
MARK, RUN, STATE, STARTED, DURATION, BEST, MEMORY, ENERGY, LOSS = range(len(COLUMNS))
ROW_ROLE = Qt.ItemDataRole.UserRole + 1
COLOUR_ROLE = Qt.ItemDataRole.UserRole + 2
_HEADERS = ("", "Run", "State", "Started", "Duration", "Best", "Peak memory", "Energy", "Loss")
_RIGHT = frozenset((BEST, MEMORY, ENERGY))
_ALIGNED_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
# Qt asks for many more of every cell that it paints.
_ROLES = frozenset(
    (
        ROW_ROLE,
        COLOUR_ROLE,
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.AccessibleTextRole,
        Qt.ItemDataRole.ToolTipRole,
        Qt.ItemDataRole.TextAlignmentRole,
    )
)
_ROOT = QModelIndex()
_TEXTS: Mapping[int, Callable[[RunRow], str]] = {
    MARK: lambda row: row.state,
    RUN: lambda row: row.title,
    STATE: lambda row: row.state_words,
    STARTED: lambda row: wording.moment(row.summary.created),
    DURATION: run_words.progress,
    BEST: run_words.best,
    MEMORY: run_words.peak,
    ENERGY: lambda row: run_words.energy(row.joules),
}


class RunsModel(QAbstractTableModel):
    """Shows the runs last given that fit the filter. A cell's tooltip says what has no room in it.

    `counted` fires when how many there are, or how many are shown, may have changed.
    """

    counted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[RunRow] = []
        self._rows: list[RunRow] = []
        self._filter = RunFilter()
        self._order = Order()
        self._colours: Mapping[str, int] = {}
        self._metric = ""

    @property
    def rows(self) -> Sequence[RunRow]:
        """What is shown, in this order."""
        return self._rows

    @property
    def all(self) -> Sequence[RunRow]:
        """Every run, shown or not, in the same order."""
        return self._all

    @property
    def order(self) -> Order:
        """In which order they stand."""
        return self._order

    @property
    def metric(self) -> str:
        """What the best value of every run that is shown is of, in short; empty where that is not one and the same."""
        return self._metric

    def row_of(self, run: str) -> int | None:
        """The row of the run with this id; None if it is not shown."""
        return next((row for row, shown in enumerate(self._rows) if shown.id == run), None)

    def set_rows(self, rows: Sequence[RunRow]) -> None:
        """Have these runs."""
        self._all = arranged(rows, self._order)
        self._show()

    def set_filter(self, wanted: RunFilter) -> None:
        """Show those of the runs that fit."""
        if wanted != self._filter:
            self._filter = wanted
            self._show()

    def set_order(self, order: Order) -> None:
        """Show the runs in this order."""
        if order != self._order:
            self._order = order
            self.set_rows(self._all)

    def set_colours(self, colours: Mapping[str, int]) -> None:
        """Draw the loss of these runs, by their ids, in the colours with these numbers; of all others in none."""
        before, self._colours = self._colours, dict(colours)
        for number, row in enumerate(self._rows):
            if before.get(row.id) != colours.get(row.id):
                place = self.index(number, LOSS)
                self.dataChanged.emit(place, place, [COLOUR_ROLE])

    def _show(self) -> None:
        change_rows(self, self._rows, [row for row in self._all if self._filter.fits(row)])
        named = {metric_label(row.summary.best.metric) for row in self._rows if row.summary.best is not None}
        metric = named.pop() if len(named) == 1 else ""
        if metric != self._metric:
            self._metric = metric
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, BEST, BEST)
        self.counted.emit()

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are runs."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """What is told of a run."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802 - Qt's name
        """The names of the columns."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return f"Best {self._metric}" if section == BEST and self._metric else _HEADERS[section]
        if role == Qt.ItemDataRole.AccessibleTextRole and section == MARK:
            return "State in a sign"
        if role == Qt.ItemDataRole.ToolTipRole and COLUMNS[section] in KEYS:
            return f"Sort by {COLUMNS[section]}; runs that are live stay on top"
        return _ALIGNED_RIGHT if role == Qt.ItemDataRole.TextAlignmentRole and section in _RIGHT else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text or tooltip of a cell, or what the delegates that draw it need: the row, and its colour."""
        if role not in _ROLES or not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        if role == ROW_ROLE:
            return row
        if role == COLOUR_ROLE:
            return self._colours.get(row.id)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return run_words.spoken(row) if column == RUN else cell_text(row, column)
        if role == Qt.ItemDataRole.DisplayRole:
            return "" if column == MARK else cell_text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return cell_tip(row, column)
        return _ALIGNED_RIGHT if role == Qt.ItemDataRole.TextAlignmentRole and column in _RIGHT else None


def cell_text(row: RunRow, column: int) -> str:
    """What stands in a cell."""
    text = _TEXTS.get(column)
    return text(row) if text else ""


def cell_tip(row: RunRow, column: int) -> str:
    """What has no room in a cell."""
    if column == RUN:
        return run_words.whole(row)
    if column == BEST:
        return run_words.best_of(row)
    if column == MEMORY:
        return run_words.peaks(row)
    if column == ENERGY and row.joules is not None:
        return wording.energy(row.joules)
    return row.state_words if column in (STATE, MARK) else ""
