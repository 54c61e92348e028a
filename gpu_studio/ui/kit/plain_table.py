"""A table of words whose rows are replaced as a whole, for short or rarely changing lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

Index = QModelIndex | QPersistentModelIndex
SORT_ROLE = Qt.ItemDataRole.UserRole + 1
T = TypeVar("T")
_ROOT = QModelIndex()
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class PlainTable(QAbstractTableModel, Generic[T]):
    """Rows of any kind; a subclass gives the text of each cell.

    Rows are identified by `key`.
    """

    headers: tuple[str, ...] = ()
    right: frozenset[int] = frozenset()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[T, ...] = ()

    def key(self, row: T) -> Any:
        """The part of a row that stays when its text changes."""
        raise NotImplementedError

    def text(self, row: T, column: int) -> str:
        """The words of a cell."""
        raise NotImplementedError

    def order(self, row: T, column: int) -> Any:
        """The value that a column is sorted by; by default its text."""
        return self.text(row, column)

    def set_rows(self, rows: Sequence[T]) -> None:
        """Show these rows. The selection survives if the same rows are still there."""
        new = tuple(rows)
        if new == self.rows:
            return
        same = [self.key(row) for row in new] == [self.key(row) for row in self.rows]
        if not same:
            self.beginResetModel()
        self.rows = new
        if not same:
            self.endResetModel()
        elif new:
            self.dataChanged.emit(self.index(0, 0), self.index(len(new) - 1, len(self.headers) - 1))

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are rows."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are headers."""
        return 0 if parent.isValid() else len(self.headers)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The names of the columns."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section in self.right:
            return _RIGHT
        return self.headers[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The words of a cell, and how it is sorted."""
        if not index.isValid():
            return None
        row, column = self.rows[index.row()], index.column()
        if role in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.AccessibleTextRole,
            Qt.ItemDataRole.ToolTipRole,
        ):
            return self.text(row, column)
        if role == SORT_ROLE:
            return self.order(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in self.right:
            return _RIGHT
        return None
