from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRectF, Qt
from PySide6.QtTest import QAbstractItemModelTester

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.epochs import Best
from gpu_studio.runs.summary import Summary
from gpu_studio.ui.models.runs_model import BEST, DURATION, HEADERS, MEMORY, RUN, STARTED, STATE, RunsModel
from gpu_studio.ui.widgets.run_cells import curve_in

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
MIB = 1024 * 1024


def summary(name: str = "a", **changes) -> Summary:
    made = Summary(
        directory=RunDirectory(Path("/runs") / name),
        plan=f"plan {name}",
        state="finished",
        reason="completed",
        created=0.0,
        seconds=62.0,
        epoch=3,
        epochs_total=30,
        step=10,
        steps_total=100,
        best=Best("val_accuracy", 0.96, 2),
        curve=(0.5, 0.9, 0.96),
        peaks={"GPU:0": 700 * MIB, "GPU:1": 760 * MIB},
        strategy="mirrored",
        resumed_from=None,
    )
    return replace(made, **changes)


summaries = st.builds(summary, st.sampled_from("abcdefgh"), state=st.sampled_from(["running", "finished"]))
lists = st.lists(summaries, max_size=8, unique_by=lambda each: each.id)


@pytest.fixture
def model(qapp):
    made = RunsModel()
    tester = QAbstractItemModelTester(made, FATAL)
    yield made
    del tester


def texts(model: RunsModel, row: int = 0) -> list[str]:
    return [model.data(model.index(row, column)) for column in range(len(HEADERS))]


@hypothesis.settings(max_examples=40)
@given(st.lists(lists, max_size=6))
def test_that_any_change_of_the_list_is_told_to_qt_as_it_is(qapp, versions: list[list[Summary]]) -> None:
    model = RunsModel()
    tester = QAbstractItemModelTester(model, FATAL)
    for version in versions:
        model.set_summaries(version)
        shown = list(model.rows)
        assert sorted(each.id for each in shown) == sorted(each.id for each in version)
        assert shown == sorted(version, key=lambda each: (each.live, each.id), reverse=True)
    del tester


def test_that_a_selected_run_stays_the_same_when_others_come_and_go(model: RunsModel, qtbot) -> None:
    from PySide6.QtCore import QPersistentModelIndex

    model.set_summaries([summary("a"), summary("b")])
    kept = QPersistentModelIndex(model.index(1, RUN))
    model.set_summaries([summary("a"), summary("c"), summary("d", state="running")])
    assert model.data(model.index(kept.row(), RUN)) == "plan a"


def test_that_only_the_row_that_changed_is_told_of(model: RunsModel, qtbot) -> None:
    model.set_summaries([summary("a"), summary("b")])
    with qtbot.waitSignal(model.dataChanged) as told:
        model.set_summaries([summary("a", epoch=4), summary("b")])
    assert told.args[0].row() == told.args[1].row() == 1
    with qtbot.assertNotEmitted(model.dataChanged):
        model.set_summaries([summary("a", epoch=4), summary("b")])


def test_that_a_row_says_what_came_of_a_run(model: RunsModel) -> None:
    model.set_summaries([summary(created=time.time())])
    row = texts(model)
    assert row[RUN] == "plan a"
    assert row[STATE] == "finished"
    assert row[DURATION] == "1 min 02 s"
    assert row[BEST] == "0.9600"
    assert row[MEMORY] == "760.0 MiB"
    assert ":" in row[STARTED]
    tip = model.data(model.index(0, BEST), Qt.ItemDataRole.ToolTipRole)
    assert tip == "val_accuracy, epoch 2"


def test_that_a_live_run_says_how_far_it_is_and_a_failed_one_why(model: RunsModel) -> None:
    model.set_summaries([summary("a", state="running"), summary("b", state="failed", reason="out of memory on GPU:1")])
    assert texts(model, 0)[DURATION] == "epoch 3 / 30"
    assert texts(model, 1)[STATE] == "failed · out of memory on GPU:1"


def test_that_what_is_not_known_is_not_shown_as_zero(model: RunsModel) -> None:
    model.set_summaries([summary(best=None, peaks={}, seconds=None, curve=())])
    row = texts(model)
    assert [row[column] for column in (DURATION, BEST, MEMORY)] == ["–", "–", "–"]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=500))
def test_that_a_curve_stays_in_its_room_whatever_the_values(values: list[float]) -> None:
    room = QRectF(10, 20, 100, 16)
    points = curve_in(values, room)
    assert len(points) <= 2 * 100 + 2
    for point in points:
        assert room.adjusted(-1e-6, -1e-6, 1e-6, 1e-6).contains(point)
