"""Operations that are placed by hand: dragged, moved by keys, written, and marked."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget

from gpu_studio.lab.hand_placement import classic
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.lab.hand_board import HandBoard
from gpu_studio.ui.lab.hand_card import HOW, HandCard, OperationDialog

DEVICES = ("CPU:0", "CPU:1")


@pytest.fixture
def window(qtbot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(640, 480)
    return made


@pytest.fixture
def card(theme, settings, window, qtbot) -> HandCard:
    made = HandCard(theme, settings, Notice(window), window)
    made.resize(600, 420)
    made.show_devices(DEVICES)
    window.show()
    made.board.setFocus()
    return made


def where(card: HandCard) -> dict[str, str]:
    return {one.name: one.device for one in card.placement.operations}


def middle(board: HandBoard, name: str) -> QPoint:
    return board.chip_of(name).center().toPoint()


def drag(board: HandBoard, qtbot, name: str, lane: int) -> None:
    target = board.lane_at(lane).center().toPoint()
    qtbot.mousePress(board, Qt.MouseButton.LeftButton, pos=middle(board, name))
    qtbot.mouseMove(board, (middle(board, name) + target) / 2)
    qtbot.mouseMove(board, target)
    qtbot.mouseRelease(board, Qt.MouseButton.LeftButton, pos=target)


def test_that_it_begins_with_a_product_on_each_device_and_their_sum(card):
    assert card.placement == classic(DEVICES)
    assert card.board.lanes == ("CPU:0", "CPU:1", "")
    assert card.said.text() == HOW


def test_that_an_operation_is_dragged_to_another_device(card, qtbot):
    drag(card.board, qtbot, "product_0", 1)
    assert where(card)["product_0"] == "CPU:1"
    drag(card.board, qtbot, "total", 2)
    assert where(card)["total"] == ""
    qtbot.mouseClick(card.board, Qt.MouseButton.LeftButton, pos=middle(card.board, "product_1"))
    assert where(card) == {"product_0": "CPU:1", "product_1": "CPU:1", "total": ""}
    assert card.board.current == "product_1"


def test_that_what_is_let_go_of_with_escape_or_outside_stays(card, qtbot):
    board, start = card.board, middle(card.board, "product_0")
    target = board.lane_at(1).center().toPoint()
    qtbot.mousePress(board, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(board, target)
    qtbot.keyClick(board, Qt.Key.Key_Escape)
    qtbot.mouseRelease(board, Qt.MouseButton.LeftButton, pos=target)
    assert where(card)["product_0"] == "CPU:0"
    qtbot.mousePress(board, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(board, target)
    qtbot.mouseRelease(board, Qt.MouseButton.LeftButton, pos=QPoint(-30, 5))
    assert where(card)["product_0"] == "CPU:0"


def test_that_keys_do_all_that_the_pointer_does(card, qtbot):
    board = card.board
    qtbot.keyClick(board, Qt.Key.Key_Down)
    assert board.current == "product_1"
    qtbot.keyClick(board, Qt.Key.Key_Left)
    assert where(card)["product_1"] == "CPU:0"
    qtbot.keyClick(board, Qt.Key.Key_Left)
    assert where(card)["product_1"] == "CPU:0", "there is no lane further left"
    qtbot.keyClick(board, Qt.Key.Key_Up)
    qtbot.keyClick(board, Qt.Key.Key_Delete)
    assert list(where(card)) == ["product_1", "total"]
    card.window().findChild(Notice).button.click()
    assert list(where(card)) == ["product_0", "product_1", "total"]
    qtbot.keyClick(board, Qt.Key.Key_Return)
    (dialog,) = card.findChildren(OperationDialog)
    assert dialog.field.text().startswith(board.current)


def test_that_operations_are_written_and_what_is_wrong_is_said(card, qtbot):
    card.add.click()
    (dialog,) = card.findChildren(OperationDialog)
    assert dialog.field.text() == "a=matmul@CPU:0"
    dialog.field.setText("a=relu(nobody)@GPU:3")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    assert "no operation before it" in dialog.wrong.text()
    dialog.field.setText("a=relu(total)@GPU:3")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    assert where(card)["a"] == "GPU:3"
    assert card.board.lanes == ("CPU:0", "CPU:1", "GPU:3", "")
    assert "There is no GPU:3" in card.said.text()
    card.again.click()
    assert card.placement == classic(DEVICES)


def test_that_soft_placement_and_the_side_are_chosen_and_remembered(card, theme, settings, window):
    changed: list[bool] = []
    card.changed.connect(lambda: changed.append(True))
    card.soft.click()
    card.side.lineEdit().setText("64")
    card.side.edited.emit(64)
    assert (card.placement.soft_placement, card.placement.side) == (False, 64)
    assert len(changed) == 2
    again = HandCard(theme, settings, Notice(window), window)
    again.show_devices(DEVICES)
    assert again.placement == card.placement


def test_that_where_each_was_executed_is_marked_until_something_changes(card):
    done = {
        ("product_0", "matmul", "CPU:0"): "CPU:0",
        ("product_1", "matmul", "CPU:1"): "CPU:0",
        ("total", "add", "CPU:9"): "CPU:0",
    }
    card.show_executed(done)
    heard = QAccessible.queryAccessibleInterface(card.board).text(QAccessible.Text.Description)
    assert "product_1, matmul on CPU:1, executed on CPU:0" in heard
    assert "total, add of product_0 and product_1 on CPU:0;" in f"{heard};"
    card.board.moved.emit("product_0", "CPU:1")
    heard = QAccessible.queryAccessibleInterface(card.board).text(QAccessible.Text.Description)
    assert "executed" not in heard
