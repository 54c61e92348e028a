"""The window's one look of a table, where rows are selected by the program and not by a hand."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage, QStandardItem, QStandardItemModel

from gpu_studio.ui.kit.table import PADDING, Table
from gpu_studio.ui.kit.theme import DARK, LIGHT, make_style_sheet


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


@pytest.mark.parametrize(
    "held", [Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier]
)
def test_that_one_row_is_chosen_whatever_keys_are_held(table, qtbot, held) -> None:
    table.choose_row(2)
    qtbot.keyClick(table, Qt.Key.Key_F, held)
    assert QGuiApplication.keyboardModifiers() == held
    table.choose_row(1)
    assert [index.row() for index in table.selectionModel().selectedRows()] == [1]
    assert table.currentIndex().row() == 1


def test_that_home_and_end_lead_to_the_first_and_the_last_row(table, qtbot) -> None:
    def rows() -> list[int]:
        return [index.row() for index in table.selectionModel().selectedRows()]

    table.choose_row(1)
    qtbot.keyClick(table, Qt.Key.Key_End)
    assert rows() == [2]
    qtbot.keyClick(table, Qt.Key.Key_Home)
    assert rows() == [0]
    qtbot.keyClick(table, Qt.Key.Key_End, Qt.KeyboardModifier.ShiftModifier)
    assert rows() == [0, 1, 2]
    table.model().clear()
    qtbot.keyClick(table, Qt.Key.Key_Home)
    assert rows() == []


def heading(table: Table, *, sorted_by_it: bool) -> QImage:
    """The second heading, which is aligned right, as it is drawn."""
    header = table.horizontalHeader()
    header.setSortIndicator(1 if sorted_by_it else 0, Qt.SortOrder.DescendingOrder)
    left, width = header.sectionPosition(1), header.sectionSize(1)
    return header.grab().toImage().copy(left, 0, width, header.height())


def drawn_columns(before: QImage, after: QImage) -> list[int]:
    """The columns of pixels that differ."""
    high = range(before.height())
    return [
        x
        for x in range(before.width())
        if any(before.pixel(x, y) != after.pixel(x, y) for y in high)
    ]


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_that_the_arrow_of_the_sorted_column_stands_clear_of_a_heading_that_is_aligned_right(
    table, tokens
) -> None:
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    table.model().setHeaderData(1, Qt.Orientation.Horizontal, "Peak memory")
    table.model().setHeaderData(
        1, Qt.Orientation.Horizontal, int(right), Qt.ItemDataRole.TextAlignmentRole
    )
    table.setStyleSheet(make_style_sheet(tokens))
    table.horizontalHeader().setSortIndicatorShown(True)
    table.setColumnWidth(1, 120)
    arrow = drawn_columns(heading(table, sorted_by_it=False), heading(table, sorted_by_it=True))
    assert arrow, "the arrow is drawn"
    end_of_text = 120 - PADDING
    assert min(arrow) >= end_of_text + 2
    assert max(arrow) < 120
