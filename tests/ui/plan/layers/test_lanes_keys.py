"""The Layers tab by keyboard, and for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from edited_part import click
from lane_plans import CPUS, placed_plan
from lanes_bench import ALT, CTRL, LEFT, NO_KEY, LanesBench, middle, opening
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QContextMenuEvent, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu


@pytest.fixture
def opened(qtbot, theme) -> Iterator[Callable[..., LanesBench]]:
    with opening(qtbot, theme) as open_:
        yield open_


def test_that_everything_is_done_by_keys_alone(qtbot, opened) -> None:
    bench = opened()
    bench.list("CPU:0").setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    assert bench.tab.grid.selected == ("flatten",)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_2, CTRL)
    assert bench.places["flatten"] == ("CPU:1",)
    assert bench.list("CPU:1").hasFocus()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Down)
    assert bench.tab.grid.selected == ("dense",)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Right)
    assert bench.list("CPU:2").hasFocus()
    assert bench.tab.grid.selected == ("dense_1",)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_4, CTRL | ALT)
    assert bench.places["dense_1"] == ("CPU:2", "CPU:3")
    bench.list("CPU:2").setFocus()
    qtbot.keyClick(bench.list("CPU:2"), Qt.Key.Key_Delete)
    assert bench.places["dense_1"] == ("CPU:3",)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Delete)
    assert "dense_1" not in bench.places
    assert bench.list("").hasFocus()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_9, CTRL)
    assert bench.tab.problem.text == "There is no device number 9."
    while bench.document.undo_stack.canUndo():
        bench.document.undo_stack.undo()
    assert bench.plan == placed_plan()


def test_that_keys_of_the_lanes_are_not_the_windows_while_a_lane_has_the_focus(
    qtbot, opened
) -> None:
    bench = opened()
    pressed: list[str] = []
    for keys in ("Ctrl+3", "Ctrl+A", "Del"):
        QShortcut(QKeySequence(keys), bench, lambda keys=keys: pressed.append(keys))
    list_ = bench.list("CPU:3")
    list_.setFocus()
    qtbot.keyClick(list_, Qt.Key.Key_A, CTRL)
    assert bench.tab.grid.selected == ("dense_2", "outputs")
    qtbot.keyClick(list_, Qt.Key.Key_3, CTRL)
    assert bench.places["outputs"] == ("CPU:2",)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Delete)
    assert "outputs" not in bench.places
    assert pressed == []
    bench.tab.toolbar.place.setFocus()
    qtbot.keyClick(bench.tab.toolbar.place, Qt.Key.Key_3, CTRL)
    assert pressed == ["Ctrl+3"]


def test_that_a_refused_key_says_why_until_something_else_is_done(qtbot, opened) -> None:
    bench = opened()
    bench.list("CPU:0").setFocus()
    bench.tab.grid.select(("flatten",))
    qtbot.keyClick(bench.list("CPU:0"), Qt.Key.Key_3, CTRL | ALT)
    assert "The layer flatten cannot be split" in bench.tab.problem.text
    assert bench.wanted == []
    qtbot.keyClick(bench.list("CPU:0"), Qt.Key.Key_3, CTRL)
    assert bench.tab.problem.text == ""
    assert bench.places["flatten"] == ("CPU:2",)


def test_that_the_menu_moves_splits_and_says_why_not(opened) -> None:
    bench = opened()
    list_ = bench.list("CPU:0")
    bench.tab.grid.select(("flatten",))
    where = middle(list_, 0)
    QApplication.sendEvent(
        list_.viewport(),
        QContextMenuEvent(
            QContextMenuEvent.Reason.Mouse, where, list_.viewport().mapToGlobal(where)
        ),
    )
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    move, split = (action.menu() for action in menu.actions()[:2])
    texts = [action.text() for action in move.actions()]
    assert texts == [f"{device}\tCtrl+{number}" for number, device in enumerate(CPUS, 1)]
    assert [action.isEnabled() for action in move.actions()] == [False, True, True, True]
    assert not any(action.isEnabled() for action in split.actions())
    assert "no units of its own" in split.actions()[1].toolTip()
    move.actions()[2].trigger()
    menu.close()
    assert bench.places["flatten"] == ("CPU:2",)


def test_that_layers_are_moved_from_the_graph_by_keys_and_menu(qtbot, opened) -> None:
    bench = opened()
    click(qtbot, bench.tab.toolbar.views.buttons["graph"])
    graph = bench.tab.graph
    qtbot.waitUntil(graph.isVisible)
    pressed: list[bool] = []
    QShortcut(QKeySequence("Ctrl+4"), bench, lambda: pressed.append(True))
    graph.setFocus()
    QTest.mouseClick(graph.viewport(), LEFT, NO_KEY, QPoint(graph.viewport().width() // 2, 80))
    qtbot.keyClick(graph, Qt.Key.Key_4, CTRL)
    assert bench.places["dense"] == ("CPU:3",)
    qtbot.keyClick(graph, Qt.Key.Key_1, CTRL | ALT)
    assert bench.places["dense"] == ("CPU:3", "CPU:0")
    assert graph.picture.nodes[1].seat.devices == ("CPU:0", "CPU:3")
    assert pressed == []
    QApplication.sendEvent(
        graph, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), QPoint(5, 5))
    )
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.actions()[-1].trigger()
    menu.close()
    assert "dense" not in bench.places


def test_that_tab_goes_from_the_toolbar_over_the_lanes_to_the_timeline(opened) -> None:
    bench = opened()
    bench.tab.line.button.setFocus(Qt.FocusReason.TabFocusReason)
    seen: list[str] = []
    for _ in range(8):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        seen.append(QApplication.focusWidget().accessibleName())
    assert seen == [f"layers on {name}" for name in CPUS] + [
        f"predicted step on {name}" for name in CPUS
    ]


def test_that_a_screen_reader_is_told_of_lanes_and_layers(opened) -> None:
    bench = opened()
    list_ = bench.list("CPU:1")
    interface = QAccessible.queryAccessibleInterface(list_)
    assert interface.text(QAccessible.Text.Name) == "layers on CPU:1"
    assert list_.accessibleDescription().startswith("1 layer, ")
    index = list_.rows.index(0)
    assert list_.rows.data(index, int(Qt.ItemDataRole.AccessibleTextRole)).startswith(
        "dense, Dense 256, 60 %"
    )
