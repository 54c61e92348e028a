"""Layers dragged from lane to lane, and refused while they still are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from lane_plans import CPUS, LAYERS, MLP, dense, placed_plan
from lanes_bench import (
    ACTIONS,
    ALT,
    CTRL,
    LEFT,
    NO_KEY,
    SHIFT,
    LanesBench,
    drop,
    leave,
    middle,
    opening,
    over,
)
from PySide6.QtCore import QMimeData, QPoint, Qt
from PySide6.QtGui import QDrag, QDragEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea

from gpu_studio.ui.plan.layers import lane_grid
from gpu_studio.ui.plan.layers.board import OPEN
from gpu_studio.ui.plan.layers.layer_moves import FORMAT, carrying


@pytest.fixture
def opened(qtbot, theme) -> Iterator[Callable[..., LanesBench]]:
    with opening(qtbot, theme) as open_:
        yield open_


def test_that_three_layers_are_dragged_split_refused_and_all_of_it_undone(opened) -> None:
    bench = opened()
    before = bench.places
    three = carrying(("flatten", "dense", "dense_1"))
    assert over(bench, "CPU:3", three)
    assert bench.tab.grid.views["CPU:3"].mark.text == "drop to run on CPU:3"
    assert drop(bench, "CPU:3", three)
    assert {name: bench.places[name] for name in LAYERS[:3]} == dict.fromkeys(
        LAYERS[:3], ("CPU:3",)
    )
    assert bench.tab.grid.selected == LAYERS[:3]

    assert over(bench, "CPU:0", carrying(("dense",)), ALT)
    assert bench.tab.grid.views["CPU:0"].mark.text == "drop to split over CPU:3 and CPU:0"
    assert drop(bench, "CPU:0", carrying(("dense",)), ALT)
    assert bench.places["dense"] == ("CPU:3", "CPU:0")

    flat = carrying(("flatten",))
    assert not over(bench, "CPU:0", flat, ALT)
    assert bench.tab.grid.hint is not None
    assert bench.tab.grid.hint.isVisible()
    assert "a Flatten has no units of its own" in bench.tab.grid.hint.text
    assert not drop(bench, "CPU:0", flat, ALT)
    assert not bench.tab.grid.hint.isVisible()

    assert [change.text for change in bench.wanted] == [
        "move 3 layers to CPU:3",
        "split dense with CPU:0",
    ]
    assert bench.document.undo_stack.count() == 2
    for _ in range(2):
        bench.document.undo_stack.undo()
    assert bench.places == before


def test_that_a_model_read_anew_takes_nothing_that_was_being_dragged_and_keeps_the_focus_here(
    opened,
) -> None:
    bench = opened()
    before, dense = bench.places, carrying(("dense",))
    bench.list("CPU:1").setFocus()
    assert over(bench, "CPU:3", dense)
    bench.reader.facts = None
    bench.reader.tell(busy=True, waiting="importing TensorFlow")
    QApplication.processEvents()
    assert not bench.tab.grid.isVisible()
    assert not drop(bench, "CPU:3", dense)
    assert bench.places == before
    assert bench.tab.bar.button.hasFocus()


def test_that_all_layers_of_a_deep_model_move_in_one_piece(opened) -> None:
    names = ["flatten", *(f"layer_{place}" for place in range(60))]
    layers = [dense(name, before, units=8) for before, name in pairwise(names)]
    deep = replace(MLP, layers=(MLP.layers[0], *layers))
    bench = opened(placed_plan({}), graph=deep)
    told: list[tuple[str, ...]] = []
    bench.tab.grid.select(tuple(names))
    bench.tab.grid.chosen.connect(told.append)
    assert over(bench, "CPU:3", carrying(tuple(names)))
    assert drop(bench, "CPU:3", carrying(tuple(names)))
    assert bench.tab.grid.selected == tuple(names)
    bench.document.undo_stack.undo()
    assert bench.places == {}
    assert [each.layer for each in bench.list(OPEN).rows.items] == names
    # Who hears of a selection looks through all of it.
    assert len(told) < 8


def test_that_a_drag_that_leaves_leaves_no_trace(opened) -> None:
    bench = opened()
    over(bench, "CPU:3", carrying(("dense",)))
    leave(bench, "CPU:3")
    assert not bench.tab.grid.views["CPU:3"].mark.isVisible()
    over(bench, "CPU:1", carrying(("dense",)))
    assert bench.tab.grid.hint.isVisible()
    leave(bench, "CPU:1")
    assert not bench.tab.grid.hint.isVisible()
    assert bench.wanted == []


def test_that_other_data_are_not_listened_to(opened) -> None:
    bench = opened()
    view, data = bench.tab.grid.views["CPU:1"], QMimeData()
    data.setText("dense")
    event = QDragEnterEvent(QPoint(9, 9), ACTIONS, data, LEFT, NO_KEY)
    event.ignore()
    QApplication.sendEvent(view, event)
    assert not event.isAccepted()
    data.setData(FORMAT, b"nonsense")
    assert not over(bench, "CPU:1", data)
    assert bench.tab.grid.hint.text == "No layer is selected."


def test_that_the_reason_of_a_refusal_is_inside_the_window_wherever_the_pointer_is(opened) -> None:
    bench = opened()
    for device in CPUS:
        over(bench, device, carrying(("flatten",)), ALT)
        hint = bench.tab.grid.hint
        assert bench.rect().contains(hint.geometry())
        leave(bench, device)


def test_that_all_selected_layers_are_dragged_with_the_mouse(opened, monkeypatch) -> None:
    bench = opened()

    class Dragged(QDrag):
        """A drag that is dropped on CPU:3 at once.

        A window without a screen has no pointer that could drag.
        """

        def exec(self, *actions: Qt.DropAction) -> Qt.DropAction:
            assert actions == (ACTIONS, Qt.DropAction.MoveAction)
            assert not self.pixmap().isNull()
            assert over(bench, "CPU:3", self.mimeData())
            assert drop(bench, "CPU:3", self.mimeData())
            return Qt.DropAction.MoveAction

    monkeypatch.setattr(lane_grid, "QDrag", Dragged)
    first, other = bench.list("CPU:0"), bench.list("CPU:1")
    QTest.mouseClick(first.viewport(), LEFT, NO_KEY, middle(first, 0))
    QTest.mouseClick(other.viewport(), LEFT, CTRL, middle(other, 0))
    window, here = bench.windowHandle(), other.viewport().mapTo(bench, middle(other, 0))
    QTest.mousePress(window, LEFT, NO_KEY, here)
    for away in range(4, 20, 4):
        QTest.mouseMove(window, here + QPoint(away, 0))
    QTest.mouseRelease(window, LEFT, NO_KEY, here)
    assert [change.text for change in bench.wanted] == ["move 2 layers to CPU:3"]
    assert (bench.places["flatten"], bench.places["dense"]) == (("CPU:3",), ("CPU:3",))


def test_that_layers_are_selected_by_click_shift_and_control_over_several_lanes(
    qtbot, opened
) -> None:
    bench = opened()
    last, first = bench.list("CPU:3"), bench.list("CPU:0")
    QTest.mouseClick(last.viewport(), LEFT, NO_KEY, middle(last, 0))
    QTest.mouseClick(last.viewport(), LEFT, SHIFT, middle(last, 1))
    assert bench.tab.grid.selected == ("dense_2", "outputs")
    QTest.mouseClick(first.viewport(), LEFT, CTRL, middle(first, 0))
    assert set(bench.tab.grid.selected) == {"flatten", "dense_2", "outputs"}
    QTest.mouseClick(first.viewport(), LEFT, NO_KEY, middle(first, 0))
    assert bench.tab.grid.selected == ("flatten",)
    first.setFocus()
    last.setFocus()
    qtbot.keyClick(last, Qt.Key.Key_A, CTRL)
    assert set(bench.tab.grid.selected) >= {"dense_2", "outputs"}


def test_that_lanes_below_scroll_into_view_while_dragging(opened) -> None:
    bench = opened(placed_plan({}, cpus=9))
    bench.resize(560, 330)
    QApplication.processEvents()
    (area,) = [
        area for area in bench.tab.findChildren(QScrollArea) if area.isAncestorOf(bench.tab.grid)
    ]
    assert area.verticalScrollBar().value() == 0
    over(bench, "CPU:8", carrying(("dense",)))
    assert area.verticalScrollBar().value() > 0
