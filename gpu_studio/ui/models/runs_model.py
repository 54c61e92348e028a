"""All runs as rows of a table, live ones on top. The list is the truth: the table is told of each difference."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpu_studio.runs import wording
from gpu_studio.runs.summary import Summary
from gpu_studio.ui.units import duration

Index = QModelIndex | QPersistentModelIndex
HEADERS = ("Run", "State", "Started", "Duration", "Best", "Peak memory", "Curve")
RUN, STATE, STARTED, DURATION, BEST, MEMORY, CURVE = range(len(HEADERS))
SUMMARY_ROLE = Qt.ItemDataRole.UserRole + 1
_RIGHT = (BEST, MEMORY)
_ROOT = QModelIndex()


class RunsModel(QAbstractTableModel):
    """Shows the summaries last given. A cell's tooltip says what has no room in it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Summary] = []

    @property
    def rows(self) -> Sequence[Summary]:
        """What is shown, in this order."""
        return self._rows

    def row_of(self, run: str) -> int | None:
        """The row of the run with this id; None if it is not shown."""
        return next((row for row, summary in enumerate(self._rows) if summary.id == run), None)

    def set_summaries(self, summaries: Sequence[Summary]) -> None:
        """Show these runs, live ones first, then the newest."""
        wanted = sorted(summaries, key=lambda summary: (summary.live, summary.id), reverse=True)
        self._remove_others({summary.id for summary in wanted})
        for row, summary in enumerate(wanted):
            self._put(row, summary)

    def _remove_others(self, wanted: set[str]) -> None:
        for row in reversed(range(len(self._rows))):
            if self._rows[row].id not in wanted:
                self.beginRemoveRows(_ROOT, row, row)
                del self._rows[row]
                self.endRemoveRows()

    def _put(self, row: int, summary: Summary) -> None:
        """Make `summary` the row numbered `row`; the rows before it stand as they shall."""
        now = self.row_of(summary.id)
        if now is None:
            self.beginInsertRows(_ROOT, row, row)
            self._rows.insert(row, summary)
            self.endInsertRows()
            return
        if now != row:
            self.beginMoveRows(_ROOT, now, now, _ROOT, row)
            self._rows.insert(row, self._rows.pop(now))
            self.endMoveRows()
        if self._rows[row] != summary:
            self._rows[row] = summary
            self.dataChanged.emit(self.index(row, RUN), self.index(row, CURVE))

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are runs."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """What is told of a run."""
        return 0 if parent.isValid() else len(HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802 - Qt's name
        """The names of the columns."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section in _RIGHT:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return HEADERS[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text or tooltip of a cell, or the whole summary for the delegates that draw it."""
        if not index.isValid():
            return None
        summary, column = self._rows[index.row()], index.column()
        if role == SUMMARY_ROLE:
            return summary
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return cell_text(summary, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return cell_tip(summary, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in _RIGHT:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None


def cell_text(summary: Summary, column: int) -> str:
    """What stands in a cell."""
    if column == RUN:
        return summary.plan
    if column == STATE:
        return f"{summary.state} · {summary.reason}" if summary.state == "failed" else summary.state
    if column == STARTED:
        return started(summary.created)
    if column == DURATION:
        return progress(summary)
    if column == BEST:
        return wording.metric(summary.best.value) if summary.best else wording.UNKNOWN
    if column == MEMORY:
        return wording.size(max(summary.peaks.values(), default=None))
    return ""


def cell_tip(summary: Summary, column: int) -> str:
    """What has no room in a cell."""
    if column == BEST and summary.best:
        return f"{summary.best.metric}, epoch {summary.best.epoch}"
    if column == MEMORY:
        return "\n".join(f"{device}: {wording.size(peak)}" for device, peak in summary.peaks.items())
    if column == RUN:
        return f"{summary.id}\nresumed from {summary.resumed_from}" if summary.resumed_from else summary.id
    return summary.reason if column == STATE else ""


def progress(summary: Summary) -> str:
    """How far a live run is, or how long a run took that has ended."""
    if summary.live and summary.epochs_total:
        return f"epoch {summary.epoch} / {summary.epochs_total}"
    return wording.UNKNOWN if summary.seconds is None else duration(summary.seconds)


def started(created: float) -> str:
    """When a run began, in local time: `14:02` today, else with the date, and with the year if it was another."""
    moment, now = datetime.fromtimestamp(created).astimezone(), datetime.now().astimezone()
    if moment.date() == now.date():
        return f"{moment:%H:%M}"
    return f"{moment:%d %b %H:%M}" if moment.year == now.year else f"{moment:%d %b %Y}"
