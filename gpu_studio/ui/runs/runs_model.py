"""All runs as rows of a table, filtered and sorted.

The list is the truth: the table is informed of each difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from gpu_studio.common import figures
from gpu_studio.common.figures import duration, metric_label
from gpu_studio.runs.labels import parent_title
from gpu_studio.ui.runs.run_rows import SORT_KEYS, Order, RunFilter, RunRow, arranged


class Identified(Protocol):
    """A row with an id of its own."""

    @property
    def id(self) -> str:
        """What stays the same when the rest of the row changes."""


T = TypeVar("T", bound=Identified)
Block = tuple[int, int]
_NO_PARENT = QModelIndex()


def change_rows(model: QAbstractTableModel, rows: list[T], wanted: Sequence[T]) -> None:
    """Make `rows`, which `model` shows, be `wanted`, in time that grows with their number.

    Ids are unique.
    """
    _remove(model, rows, {row.id for row in wanted})
    places = {row.id: place for place, row in enumerate(wanted)}
    _sort(model, rows, places)
    _insert(model, rows, wanted)
    _replace(model, rows, wanted)


def _remove(model: QAbstractTableModel, rows: list[T], kept: set[str]) -> None:
    for first, last in reversed(blocks(at for at, row in enumerate(rows) if row.id not in kept)):
        model.beginRemoveRows(_NO_PARENT, first, last)
        del rows[first : last + 1]
        model.endRemoveRows()


def _sort(model: QAbstractTableModel, rows: list[T], places: dict[str, int]) -> None:
    order = sorted(range(len(rows)), key=lambda at: places[rows[at].id])
    if order == list(range(len(rows))):
        return
    model.layoutAboutToBeChanged.emit()
    new_place = {before: now for now, before in enumerate(order)}
    rows[:] = [rows[at] for at in order]
    kept = model.persistentIndexList()
    model.changePersistentIndexList(
        kept, [model.index(new_place[index.row()], index.column()) for index in kept]
    )
    model.layoutChanged.emit()


def _insert(model: QAbstractTableModel, rows: list[T], wanted: Sequence[T]) -> None:
    here = {row.id for row in rows}
    for first, last in blocks(at for at, row in enumerate(wanted) if row.id not in here):
        model.beginInsertRows(_NO_PARENT, first, last)
        rows[first:first] = wanted[first : last + 1]
        model.endInsertRows()


def _replace(model: QAbstractTableModel, rows: list[T], wanted: Sequence[T]) -> None:
    last_column = model.columnCount() - 1
    changed = [at for at, row in enumerate(wanted) if row is not rows[at] and row != rows[at]]
    for first, last in blocks(changed):
        rows[first : last + 1] = wanted[first : last + 1]
        model.dataChanged.emit(model.index(first, 0), model.index(last, last_column))


def blocks(numbers: Iterable[int]) -> list[Block]:
    """The first and the last of each unbroken stretch of rising numbers."""
    found = []
    for _, stretch in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in stretch]
        found.append((members[0], members[-1]))
    return found


def progress(row: RunRow) -> str:
    """How far a live run is, or how long a run took that has ended."""
    summary = row.summary
    if summary.live and summary.epochs_total:
        return f"epoch {figures.grouped(summary.epoch)}/{figures.grouped(summary.epochs_total)}"
    return figures.UNKNOWN if summary.seconds is None else duration(summary.seconds)


def best(row: RunRow) -> str:
    """The best value of the metric that says most."""
    return figures.metric(row.summary.best.value) if row.summary.best else figures.UNKNOWN


def best_of(row: RunRow) -> str:
    """Return the metric of the best value, and when it was reached."""
    found = row.summary.best
    return (
        f"{found.metric}, epoch {figures.grouped(found.epoch)}" if found else "No epoch has ended"
    )


def peak(row: RunRow) -> str:
    """The most memory that any one device held."""
    return figures.UNKNOWN if row.peak is None else figures.size(row.peak)


def peaks(row: RunRow) -> str:
    """The most memory that each device held, a line each."""
    return "\n".join(
        f"{device}: {figures.size(peak)}" for device, peak in row.summary.peaks.items()
    )


def whole(row: RunRow) -> str:
    """The run's name and id, where it comes from, and what a person wrote on it, a line each."""
    parent, labels = parent_title(row.summary.directory, row.summary.resumed_from), row.labels
    lines = (
        row.title,
        f"plan: {row.summary.plan}" if labels.name else "",
        row.id,
        f"practice cards: {row.summary.practice}" if row.summary.practice else "",
        f"trained on {row.summary.where}" if row.summary.where else "",
        f"resumed from {parent}" if parent else "",
        f"tags: {', '.join(labels.tags)}" if labels.tags else "",
        labels.note,
        labels.problem,
    )
    return "\n".join(filter(None, lines))


def spoken(row: RunRow) -> str:
    """Return the run's name and tags in one line."""
    practice = ", on practice cards" if row.summary.practice else ""
    tagged = f", tagged {', '.join(row.labels.tags)}" if row.labels.tags else ""
    return f"{row.title}{practice}{tagged}"


Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("mark", "run", "state", "started", "duration", "best", "memory", "energy", "loss")
MARK, RUN, STATE, STARTED, DURATION, BEST, MEMORY, ENERGY, LOSS = range(len(COLUMNS))
ROW_ROLE = Qt.ItemDataRole.UserRole + 1
COLOUR_ROLE = Qt.ItemDataRole.UserRole + 2
_HEADERS = ("", "Run", "State", "Started", "Duration", "Best", "Peak memory", "Energy", "Loss")
_RIGHT = frozenset((BEST, MEMORY, ENERGY))
_ALIGNED_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
# Qt asks for many more roles of every cell that it paints.
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
    STARTED: lambda row: figures.moment(row.summary.started),
    DURATION: progress,
    BEST: best,
    MEMORY: peak,
    ENERGY: lambda row: figures.watt_hours(row.joules),
}


class RunsModel(QAbstractTableModel):
    """Shows the given runs that match the filter.

    A cell's tooltip has what does not fit in the cell.
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
        """All runs, shown or not, in the same order."""
        return self._all

    @property
    def order(self) -> Order:
        """In which order they stand."""
        return self._order

    @property
    def metric(self) -> str:
        """What the best value of every run that is shown is of, in short.

        Empty where that is not one and the same.
        """
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
        """Draw the loss of these runs, by id, in the colours with these numbers.

        Others have none.
        """
        before, self._colours = self._colours, dict(colours)
        for number, row in enumerate(self._rows):
            if before.get(row.id) != colours.get(row.id):
                place = self.index(number, LOSS)
                self.dataChanged.emit(place, place, [COLOUR_ROLE])

    def _show(self) -> None:
        change_rows(self, self._rows, [row for row in self._all if self._filter.fits(row)])
        named = {
            metric_label(row.summary.best.metric)
            for row in self._rows
            if row.summary.best is not None
        }
        metric = named.pop() if len(named) == 1 else ""
        if metric != self._metric:
            self._metric = metric
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, BEST, BEST)
        self.counted.emit()

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are runs."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """What is shown of a run."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The names of the columns."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return f"Best {self._metric}" if section == BEST and self._metric else _HEADERS[section]
        if role == Qt.ItemDataRole.AccessibleTextRole and section == MARK:
            return "State in a sign"
        if role == Qt.ItemDataRole.ToolTipRole and COLUMNS[section] in SORT_KEYS:
            return f"Sort by {COLUMNS[section]}; runs that are live stay on top"
        return (
            _ALIGNED_RIGHT
            if role == Qt.ItemDataRole.TextAlignmentRole and section in _RIGHT
            else None
        )

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text or tooltip of a cell, or its row and colour for the delegates that draw it."""
        if role not in _ROLES or not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        if role == ROW_ROLE:
            return row
        if role == COLOUR_ROLE:
            return self._colours.get(row.id)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return spoken(row) if column == RUN else cell_text(row, column)
        if role == Qt.ItemDataRole.DisplayRole:
            return "" if column == MARK else cell_text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return cell_tip(row, column)
        return (
            _ALIGNED_RIGHT
            if role == Qt.ItemDataRole.TextAlignmentRole and column in _RIGHT
            else None
        )


def cell_text(row: RunRow, column: int) -> str:
    """Return the text of a cell."""
    text = _TEXTS.get(column)
    return text(row) if text else ""


def cell_tip(row: RunRow, column: int) -> str:
    """Return what does not fit in a cell."""
    if column == RUN:
        return whole(row)
    if column == BEST:
        return best_of(row)
    if column == MEMORY:
        return peaks(row)
    if column == ENERGY and row.joules is not None:
        return figures.energy(row.joules)
    return row.state_words if column in (STATE, MARK) else ""
