"""The layers of one lane as rows of a list."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpu_studio.ui.plan.layers.board import Item

ITEM = int(Qt.ItemDataRole.UserRole)
Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()


class LaneRows(QAbstractListModel):
    """Rows that keep their identity when others come and go.

    So the selection survives.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: list[Item] = []

    @property
    def items(self) -> tuple[Item, ...]:
        """What is shown."""
        return tuple(self._items)

    def show_items(self, items: Sequence[Item]) -> None:
        """Show these layers."""
        before, after = [item.layer for item in self._items], [item.layer for item in items]
        kept = set(before) & set(after)
        if [name for name in before if name in kept] != [name for name in after if name in kept]:
            self.beginResetModel()
            self._items = list(items)
            self.endResetModel()
            return
        self._remove([place for place, name in enumerate(before) if name not in kept])
        for place, item in enumerate(items):
            if item.layer not in kept:
                self.beginInsertRows(_NO_INDEX, place, place)
                self._items.insert(place, item)
                self.endInsertRows()
        self._refresh(items)

    def row_of(self, layer: str) -> int:
        """The row of a layer, -1 if it is not here."""
        return next((row for row, item in enumerate(self._items) if item.layer == layer), -1)

    def rowCount(self, parent: Index = _NO_INDEX) -> int:  # noqa: N802 - Qt's name
        """How many layers there are."""
        return 0 if parent.isValid() else len(self._items)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        """Return a layer's text or, under ITEM, everything known about it."""
        if not index.isValid():
            return None
        item = self._items[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return item.layer
            case Qt.ItemDataRole.AccessibleTextRole:
                return item.text
            case Qt.ItemDataRole.ToolTipRole:
                return "\n".join(filter(None, (item.detail, item.part, item.goes_to)))
        return item if role == ITEM else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every layer can be selected and dragged."""
        flags = (
            Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled
        )
        return flags if index.isValid() else Qt.ItemFlag.NoItemFlags

    def _remove(self, rows: Sequence[int]) -> None:
        for row in reversed(rows):
            self.beginRemoveRows(_NO_INDEX, row, row)
            del self._items[row]
            self.endRemoveRows()

    def _refresh(self, items: Sequence[Item]) -> None:
        """Update the rows that are kept."""
        changed = [
            row for row, (old, new) in enumerate(zip(self._items, items, strict=True)) if old != new
        ]
        self._items = list(items)
        if changed:
            self.dataChanged.emit(self.index(changed[0]), self.index(changed[-1]))
