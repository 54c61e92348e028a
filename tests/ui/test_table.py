"""The window's one look of a table, where rows are selected by the program and not by a hand."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QStandardItem, QStandardItemModel

from gpu_studio.ui.widgets.tables.table import Table


@pytest.fixture
def table(qtbot) -> Table:
    model = QStandardItemModel()
    for name in "abc":
        model.appendRow([QStandardItem(name), QStandardItem(name)])
    made = Table(model, "Letters")
    model.setParent(made)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.parametrize("held", [Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier])
def test_that_one_row_is_chosen_whatever_keys_are_held(table, qtbot, held) -> None:
    table.choose_row(2)
    qtbot.keyClick(table, Qt.Key.Key_F, held)
    assert QGuiApplication.keyboardModifiers() == held
    table.choose_row(1)
    assert [index.row() for index in table.selectionModel().selectedRows()] == [1]
    assert table.currentIndex().row() == 1
