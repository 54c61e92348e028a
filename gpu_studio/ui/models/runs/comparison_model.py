"""What differs between runs as rows of a table: a column for each run, the fields of the plans first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpu_studio.runs.results.comparison import Row

Index = QModelIndex | QPersistentModelIndex
IS_FIELD_ROLE = Qt.ItemDataRole.UserRole + 1
IS_BEST_ROLE = Qt.ItemDataRole.UserRole + 2
COLOUR_ROLE = Qt.ItemDataRole.UserRole + 3
MARK = "★"
_ROOT = QModelIndex()
_TEXT = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole)


class ComparisonModel(QAbstractTableModel):
    """Rows of a comparison: the name of a field or a figure, and it for each run, the best with a mark."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names: tuple[str, ...] = ()
        self._colours: tuple[int, ...] = ()
        self._rows: tuple[tuple[Row, bool], ...] = ()

    @property
    def rows(self) -> list[Row]:
        """What is shown."""
        return [row for row, _ in self._rows]

    def show(self, names: Sequence[str], colours: Sequence[int], plans: Sequence[Row], results: Sequence[Row]) -> None:
        """Show runs of these names, whose colours have these numbers: the plans first, then what came of them."""
        rows = (*((row, True) for row in plans), *((row, False) for row in results))
        if (tuple(names), tuple(colours), rows) == (self._names, self._colours, self._rows):
            return
        self.beginResetModel()
        self._names, self._colours, self._rows = tuple(names), tuple(colours), rows
        self.endResetModel()

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are fields and figures."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """One for the names, and one for each run."""
        return 0 if parent.isValid() else 1 + len(self._names)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802 - Qt's name
        """The names of the runs."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == COLOUR_ROLE:
            return self._colours[section - 1] if section else None
        if role in _TEXT:
            return self._names[section - 1] if section else "Plan" if self._rows and self._rows[0][1] else ""
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text of a cell, and how it is to be drawn."""
        if not index.isValid():
            return None
        (row, is_field), place = self._rows[index.row()], index.column() - 1
        best = place >= 0 and row.best == place
        if role == IS_FIELD_ROLE:
            return is_field and place < 0
        if role == IS_BEST_ROLE:
            return best
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{row.texts[place]}, the best" if best else row.label if place < 0 else row.texts[place]
        if role == Qt.ItemDataRole.ToolTipRole and best:
            return f"{row.texts[place]}: the best of these runs"
        if role in _TEXT:
            text = row.label if place < 0 else row.texts[place]
            return f"{MARK} {text}" if best else _bare(text) if is_field else text
        return None

    def as_text(self) -> str:
        """All of it, with tabs between the columns, for a spreadsheet."""
        lines = [["", *self._names], *([row.label, *row.texts] for row, _ in self._rows)]
        return "\n".join("\t".join(line) for line in lines)


def _bare(text: str) -> str:
    """A word of a plan without the quotes that it has in the file."""
    quoted = len(text) > len('""') and text[0] == text[-1] == '"'
    return text[1:-1] if quoted and "\\" not in text else text
