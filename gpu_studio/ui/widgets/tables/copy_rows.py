"""Rows of a table on the clipboard, as text that a spreadsheet takes."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QTableView

NAME = "Copy rows"


def let_copy(table: QTableView) -> QAction:
    """Let Ctrl+C, and the menu of the right button, copy the selected rows of a table, or all if none is selected."""
    action = QAction(NAME, table)
    action.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
    action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
    action.triggered.connect(lambda: QGuiApplication.clipboard().setText(rows_as_text(table)))
    table.addAction(action)
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
    return action


def rows_as_text(table: QTableView) -> str:
    """The headings and the selected rows, a line each, their cells apart by tabs."""
    model = table.model()
    chosen = sorted(index.row() for index in table.selectionModel().selectedRows())
    columns = range(model.columnCount())
    across = Qt.Orientation.Horizontal
    headings = [str(model.headerData(column, across)) for column in columns]
    cells = ([str(model.index(row, column).data()) for column in columns] for row in chosen or range(model.rowCount()))
    return "\n".join("\t".join(line) for line in (headings, *cells))
