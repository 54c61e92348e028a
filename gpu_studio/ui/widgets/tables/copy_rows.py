"""Rows of tables as text that a spreadsheet takes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtWidgets import QTableView


def rows_as_text(table: QTableView) -> str:
    """The headings and the selected rows of a table, or all rows if none is selected."""
    chosen = sorted(index.row() for index in table.selectionModel().selectedRows())
    return model_as_text(table.model(), chosen or range(table.model().rowCount()))


def model_as_text(model: QAbstractItemModel, rows: Sequence[int]) -> str:
    """The headings and these rows of a model, a line each, their cells apart by tabs."""
    columns = range(model.columnCount())
    across = Qt.Orientation.Horizontal
    headings = [str(model.headerData(column, across)) for column in columns]
    cells = ([str(model.index(row, column).data()) for column in columns] for row in rows)
    return "\n".join("\t".join(line) for line in (headings, *cells))
