"""The queue as a table: the plan, what it needs, what it waits for. Rows can be dragged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QMimeData, QModelIndex, QPersistentModelIndex, Qt, Signal

from gpu_studio.runs.queue_entry import QueueEntry, Wait, state_of
from gpu_studio.ui.kit import PlainTable, sentence

MIME = "application/x-gpu-studio-queued"
_ROOT = QModelIndex()
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class QueueRow:
    """An entry, what it `needs`, and the `wait` that the runner reports, if any."""

    entry: QueueEntry
    needs: str
    wait: Wait | None = None

    @property
    def state(self) -> str:
        """How it is, in words."""
        return sentence(state_of(self.entry, self.wait)).rstrip(".")


class QueueModel(PlainTable[QueueRow]):
    """`dropped(id, place)` reports that an entry was dragged to that place."""

    dropped = Signal(str, int)
    headers = ("Plan", "Needs", "State")

    def key(self, row: QueueRow) -> str:
        """The id of the entry."""
        return row.entry.id

    def text(self, row: QueueRow, column: int) -> str:
        """The words of a cell."""
        return (row.entry.name, row.needs, row.state)[column]

    def place_of(self, name: str) -> int | None:
        """Where the entry with this id stands."""
        return next((place for place, row in enumerate(self.rows) if row.entry.id == name), None)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Rows are dragged, and dropped between rows."""
        usual = super().flags(index)
        return usual | (
            Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else Qt.ItemFlag.ItemIsDropEnabled
        )

    def supportedDropActions(self) -> Qt.DropAction:  # noqa: N802 - Qt's name
        """Moving alone."""
        return Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:  # noqa: N802 - Qt's name
        """What is dragged."""
        return [MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:  # noqa: N802 - Qt's name
        """The id of the row that is dragged."""
        data = QMimeData()
        if indexes:
            data.setData(MIME, json.dumps(self.rows[indexes[0].row()].entry.id).encode())
        return data

    def dropMimeData(  # noqa: N802 - Qt's name
        self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index = _ROOT
    ) -> bool:
        """Report where the row was dropped; the receiver moves it."""
        del column
        if action != Qt.DropAction.MoveAction or not data.hasFormat(MIME):
            return False
        try:
            name = json.loads(bytes(data.data(MIME).data()))
        except ValueError:
            return False
        before = self.place_of(name) if isinstance(name, str) else None
        if before is None:
            return False
        target = parent.row() if parent.isValid() else row if row >= 0 else len(self.rows)
        self.dropped.emit(name, target - (before < target))
        return True
