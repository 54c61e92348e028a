"""The differences of two plans as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpu_studio.plan.difference import Difference

Index = QModelIndex | QPersistentModelIndex
HEADERS = ("Field", "There", "Here")
LEFT_OUT = "left out"
_ROOT = QModelIndex()
_TEXT = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole)


class DifferencesModel(QAbstractTableModel):
    """A row for each field that differs: what the other plan says, and what the open one says."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Difference, ...] = ()

    @property
    def rows(self) -> tuple[Difference, ...]:
        """What is shown."""
        return self._rows

    def set_rows(self, rows: Sequence[Difference]) -> None:
        """Show these."""
        if tuple(rows) != self._rows:
            self.beginResetModel()
            self._rows = tuple(rows)
            self.endResetModel()

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are differences."""
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
        if not index.isValid() or role not in _TEXT:
            return None
        row = self._rows[index.row()]
        return (row.field, row.before or LEFT_OUT, row.after or LEFT_OUT)[index.column()]
