"""The checkpoints of a run as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpu_studio.runs.events import Checkpoint
from gpu_studio.ui.models import figures

Index = QModelIndex | QPersistentModelIndex
HEADERS = ("Checkpoint", "Epoch", "Step", "Value", "Best", "Size", "Written in")
BEST = HEADERS.index("Best")
_ROOT = QModelIndex()


class CheckpointsModel(QAbstractTableModel):
    """The checkpoints that are still kept, the newest first; of those that were the best so far, the newest is."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Checkpoint] = []

    def set_checkpoints(self, kept: Sequence[Checkpoint]) -> None:
        """Show these, given from the oldest to the newest."""
        wanted = list(reversed(kept))
        if wanted == self._rows:
            return
        self._remove_others({saved.name for saved in wanted})
        fresh = len(wanted) - len(self._rows)
        if fresh > 0 and wanted[fresh:] == self._rows:
            self.beginInsertRows(_ROOT, 0, fresh - 1)
            self._rows = wanted
            self.endInsertRows()
        elif wanted != self._rows:
            self.beginResetModel()
            self._rows = wanted
            self.endResetModel()
        if self._rows:
            self.dataChanged.emit(self.index(0, BEST), self.index(len(self._rows) - 1, BEST))

    def _remove_others(self, names: set[str]) -> None:
        for row in reversed(range(len(self._rows))):
            if self._rows[row].name not in names:
                self.beginRemoveRows(_ROOT, row, row)
                del self._rows[row]
                self.endRemoveRows()

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are checkpoints."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are headers."""
        return 0 if parent.isValid() else len(HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802 - Qt's name
        """The names of the columns."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text of a cell."""
        if index.isValid() and role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            saved = self._rows[index.row()]
            if index.column() == BEST:
                return "★ best" if saved is self._best() else ""
            return _texts(saved)[index.column()]
        return None

    def _best(self) -> Checkpoint | None:
        return next((saved for saved in self._rows if saved.best), None)


def _texts(saved: Checkpoint) -> tuple[str, ...]:
    return (
        saved.name,
        figures.count(saved.epoch),
        figures.count(saved.step),
        "" if saved.value is None else figures.value(saved.value),
        "",
        figures.size(saved.bytes),
        figures.milliseconds(saved.seconds),
    )
