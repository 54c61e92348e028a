"""The physical devices of this machine as rows of a table."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpu_studio.common.figures import size_from_mib
from gpu_studio.hardware.device_rows import DeviceRow, Figure

Index = QModelIndex | QPersistentModelIndex
HEADERS = ("Device", "Memory", "Utilisation", "Power", "Temp.", "In a plan", "Used by")
DEVICE, MEMORY, UTILISATION, POWER, TEMPERATURE, TENSORFLOW, USED_BY = range(7)
ROW_ROLE = Qt.ItemDataRole.UserRole + 1
_ROOT = QModelIndex()
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class DevicesModel(QAbstractTableModel):
    """Shows the rows last given.

    If only figures changed, only their cells are reported as changed.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[DeviceRow, ...] = ()

    @property
    def rows(self) -> tuple[DeviceRow, ...]:
        """What is shown."""
        return self._rows

    def set_rows(self, rows: tuple[DeviceRow, ...]) -> None:
        """Show these devices."""
        if [row.key for row in rows] == [row.key for row in self._rows]:
            self._update(rows)
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def _update(self, rows: tuple[DeviceRow, ...]) -> None:
        before, self._rows = self._rows, rows
        for number, (old, new) in enumerate(zip(before, rows, strict=True)):
            if old != new:
                first = MEMORY if (old.name, old.detail) == (new.name, new.detail) else DEVICE
                self.dataChanged.emit(self.index(number, first), self.index(number, USED_BY))

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are devices."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are figures."""
        return 0 if parent.isValid() else len(HEADERS)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The names of the columns."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section in (
            UTILISATION,
            POWER,
            TEMPERATURE,
        ):
            return _RIGHT
        return HEADERS[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text of a cell, or the whole row for the delegates that draw it."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return text_of(row, index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tip(row, index.column())
        return None


def figure_of(row: DeviceRow, column: int) -> Figure:
    """Return the text of a figure's column."""
    shown = {
        UTILISATION: row.utilisation,
        POWER: row.power,
        TEMPERATURE: row.temperature,
        USED_BY: row.used_by,
    }
    return shown[column]


def text_of(row: DeviceRow, column: int) -> str:
    """Return the text of a cell."""
    if column == DEVICE:
        return f"{row.name} {row.detail}"
    if column == MEMORY:
        return row.gone or row.memory
    if column == TENSORFLOW:
        return row.tensorflow
    return "" if row.gone else figure_of(row, column).text


def as_text(rows: tuple[DeviceRow, ...]) -> str:
    """Return the table as text with aligned columns, to be pasted into a message."""
    lines = [
        HEADERS,
        *(tuple(text_of(row, column) for column in range(len(HEADERS))) for row in rows),
    ]
    # A reason in place of several figures must not widen the memory column.
    widths = [
        max(
            (
                len(line[column])
                for line, row in zip(lines, (None, *rows), strict=True)
                if not (row and row.gone)
            )
        )
        for column in range(len(HEADERS))
    ]
    shown = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in shown)


def _tip(row: DeviceRow, column: int) -> str:
    if column == MEMORY:
        return _memory_tip(row)
    words = text_of(row, column)
    return f"{words} · {row.more}" if column == USED_BY and row.more not in ("", words) else words


def _memory_tip(row: DeviceRow) -> str:
    if row.gone or row.used_mib is None or row.total_mib is None:
        return row.gone or row.memory
    kept = f", {size_from_mib(row.reserved_mib)} kept by the driver" if row.reserved_mib else ""
    return f"{size_from_mib(row.used_mib)} in use{kept}, of {size_from_mib(row.total_mib)}"
