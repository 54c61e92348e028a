"""The physical devices of this machine as rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpu_studio.plan import Machine
from gpu_studio.ui.units import mib, plural, used_of

Index = QModelIndex | QPersistentModelIndex
HEADERS = ("Device", "Memory", "TensorFlow")
DEVICE, MEMORY, TENSORFLOW = range(3)
ROW_ROLE = Qt.ItemDataRole.UserRole + 1
_ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One physical device. `place` is its number among the cards, which gives it its colour; None is the host."""

    name: str
    detail: str
    tensorflow: str
    total_mib: int | None
    used_mib: int | None
    place: int | None = None
    why_unknown: str = ""

    @property
    def memory(self) -> str:
        """Its memory in words."""
        if self.place is None and self.used_mib is None and self.total_mib:
            return mib(self.total_mib)
        if self.used_mib is None and self.why_unknown:
            return self.why_unknown
        return used_of(self.used_mib, self.total_mib)

    @property
    def share(self) -> float | None:
        """The part of its memory that is in use, 0…1; None if that is not known."""
        if not self.total_mib or self.used_mib is None:
            return None
        return min(1.0, self.used_mib / self.total_mib)


def rows_of(machine: Machine) -> tuple[DeviceRow, ...]:
    """The cards in PCI bus order, and the CPU last."""
    cards = tuple(
        DeviceRow(f"GPU {card.index}", card.name, card.device, card.total_mib, card.used_mib, place, card.why_unknown)
        for place, card in enumerate(machine.cards)
    )
    detail = " · ".join(filter(None, (machine.cpu_name, plural(machine.cpu_cores, "core"))))
    return (*cards, DeviceRow("CPU", detail, "CPU:0", machine.memory_mib or None, None))


class DevicesModel(QAbstractTableModel):
    """Shows the rows last given. Where only figures changed, only they are told to have changed."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[DeviceRow, ...] = ()

    @property
    def rows(self) -> tuple[DeviceRow, ...]:
        """What is shown."""
        return self._rows

    def set_machine(self, machine: Machine) -> None:
        """Show this machine."""
        rows = rows_of(machine)
        if [row.name for row in rows] == [row.name for row in self._rows]:
            self._update(rows)
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def _update(self, rows: tuple[DeviceRow, ...]) -> None:
        before, self._rows = self._rows, rows
        for number, (old, new) in enumerate(zip(before, rows, strict=True)):
            if old != new:
                self.dataChanged.emit(self.index(number, DEVICE), self.index(number, TENSORFLOW))

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are devices."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """Device, memory, TensorFlow's name."""
        return 0 if parent.isValid() else len(HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802 - Qt's name
        """The names of the columns."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text of a cell, or the whole row for the delegates that draw it."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return (f"{row.name} {row.detail}", row.memory, row.tensorflow)[index.column()]
        return None
