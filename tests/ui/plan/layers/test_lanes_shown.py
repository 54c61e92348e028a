"""What the Layers tab shows of a plan: lanes, the predicted step, the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from edited_part import click
from lane_plans import CPUS, LAYERS, deep, placed_plan
from lanes_bench import LEFT, NO_KEY, LanesBench, opening
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gpu_studio.ui.kit.step_view import LEFT as LEFT_OF_BLOCKS
from gpu_studio.ui.plan.layers.step_line import MOST_TASKS_AT_ONCE


@pytest.fixture
def opened(qtbot, theme) -> Iterator[Callable[..., LanesBench]]:
    with opening(qtbot, theme) as open_:
        yield open_


def test_that_a_step_is_drawn_with_a_row_for_each_device_that_has_a_layer(opened) -> None:
    bench = opened()
    rows = [row for row in bench.tab.timeline.predicted.rows if row.isVisible()]
    assert [row.accessibleName() for row in rows] == [
        f"predicted step on {device}" for device in CPUS
    ]
    assert rows[1].accessibleDescription().startswith("CPU:1: 1 layer, busy ")
    assert {task.what for task in rows[1].tasks} == {"forward", "backward", "update"}
    first, seconds = rows[1].tasks[0], max(task.end for row in rows for task in row.tasks)
    scale = (rows[1].width() - LEFT_OF_BLOCKS) / seconds
    middle_of_it = LEFT_OF_BLOCKS + (first.begin + first.end) / 2 * scale
    assert rows[1].task_at(middle_of_it, 9) == first
    waiting = (first.end + rows[1].tasks[1].begin) / 2
    assert rows[1].task_at(LEFT_OF_BLOCKS + waiting * scale, 9) is None
    bench.document.replace(placed_plan(dict.fromkeys(LAYERS, ("CPU:2",))), "all on one")
    assert [
        row.accessibleName() for row in bench.tab.timeline.predicted.rows if row.isVisible()
    ] == ["predicted step on CPU:2"]


def test_that_a_step_of_very_many_tasks_is_predicted_without_holding_up_the_window(
    qtbot, opened
) -> None:
    graph = deep(120)
    places = {layer.name: (CPUS[at % 4],) for at, layer in enumerate(graph.layers)}
    bench = opened(placed_plan(places, 16), graph=graph)
    assert MOST_TASKS_AT_ONCE < 120 * 33
    with qtbot.waitSignal(bench.tab.steps.made):
        bench.document.replace(placed_plan(places, 17), "more")
        assert bench.tab.timeline.predicted.caption.text() == "predicting the step…"
    assert "one device" in bench.tab.line.words.text()
    assert sum(len(row.tasks) for row in bench.tab.timeline.predicted.rows) == 120 * (2 * 17 + 1)


def test_that_what_crosses_is_listed_edge_by_edge(opened) -> None:
    bench = opened()
    assert (
        bench.tab.crossings.lines.text.splitlines()[0]
        == "CPU:0 → CPU:1 flatten → dense · 196 KiB a step"
    )
    bench.document.replace(placed_plan(dict.fromkeys(LAYERS, ("CPU:2",))), "all on one")
    assert not bench.tab.crossings.isVisible()


def test_that_the_graph_and_the_lanes_have_one_selection(qtbot, opened) -> None:
    bench = opened()
    click(qtbot, bench.tab.toolbar.views.buttons["graph"])
    graph = bench.tab.graph
    qtbot.waitUntil(graph.isVisible)
    graph.setFocus()
    qtbot.keyClick(graph, Qt.Key.Key_Down)
    assert graph.accessibleDescription() == "dense, Dense 256, on CPU:1"
    assert bench.tab.grid.selected == ("dense",)


def test_that_a_folded_node_unfolds_by_key_and_double_click_and_folds_again(qtbot, opened) -> None:
    chain = deep(60)
    places = {layer.name: (CPUS[at // 30],) for at, layer in enumerate(chain.layers)}
    bench = opened(placed_plan(places), graph=chain)
    click(qtbot, bench.tab.toolbar.views.buttons["graph"])
    graph = bench.tab.graph
    qtbot.waitUntil(graph.isVisible)
    assert len(graph.picture.nodes) == 2
    graph.setFocus()
    qtbot.keyClick(graph, Qt.Key.Key_Space)
    assert len(graph.picture.nodes) == 31
    qtbot.keyClick(graph, Qt.Key.Key_Space)
    assert len(graph.picture.nodes) == 2
    QTest.mouseDClick(graph.viewport(), LEFT, NO_KEY, QPoint(graph.viewport().width() // 2, 20))
    assert len(graph.picture.nodes) == 31
    bench.document.undo_stack.undo()
    bench.show_plan()
    assert len(graph.picture.nodes) == 31


@pytest.mark.parametrize("width", [520, 725])
@pytest.mark.parametrize("cpus", [1, 4, 9])
def test_that_every_lane_is_inside_the_tab_and_wide_enough(
    dressed, opened, width: int, cpus: int
) -> None:
    bench = opened(placed_plan({}, cpus=cpus))
    bench.tab.layout().setSizeConstraint(bench.tab.layout().SizeConstraint.SetNoConstraint)
    bench.resize(width + 22, 300)
    QApplication.processEvents()
    grid = bench.tab.grid
    lanes = list(grid.views.values())
    assert len(lanes) == cpus + 1
    assert all(grid.rect().contains(lane.geometry()) for lane in lanes)
    assert all(lane.width() >= 100 for lane in lanes if not lane.slim)
    corners = [lane.geometry() for lane in lanes]
    assert not any(
        one.intersects(other) for at, one in enumerate(corners) for other in corners[:at]
    )
    assert bench.tab.minimumSizeHint().width() <= 520


def test_that_lanes_stay_what_they_are_when_the_plan_changes(opened) -> None:
    bench = opened()
    views = dict(bench.tab.grid.views)
    bench.tab.grid.select(("dense_1",))
    bench.list("CPU:2").setFocus()
    bench.document.replace(placed_plan({"dense_1": ("CPU:2",), "outputs": ("CPU:0",)}), "otherwise")
    assert bench.tab.grid.views == views
    assert bench.tab.grid.selected == ("dense_1",)
    assert bench.list("CPU:2").hasFocus()
    assert bench.wanted == []
