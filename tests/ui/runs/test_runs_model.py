from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QItemSelectionModel, QPersistentModelIndex, QRectF, Qt
from PySide6.QtTest import QAbstractItemModelTester
from run_rows import run_row

from gpu_studio.runs.reading.epochs import BestValue
from gpu_studio.ui.runs.run_rows import SORT_KEYS, Order, RunFilter, RunRow, parse
from gpu_studio.ui.runs.run_table import curve_in, tags_within
from gpu_studio.ui.runs.runs_model import (
    BEST,
    COLOUR_ROLE,
    COLUMNS,
    DURATION,
    ENERGY,
    LOSS,
    MEMORY,
    RUN,
    STARTED,
    STATE,
    RunsModel,
    blocks,
)

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
rows = st.builds(
    run_row,
    st.sampled_from("abcdefgh"),
    state=st.sampled_from(["running", "finished", "failed"]),
    seconds=st.none() | st.floats(0, 100),
)
versions = st.tuples(
    st.lists(rows, max_size=8, unique_by=lambda each: each.id),
    st.sampled_from(["", "state:failed", "plan a", "-failed"]),
    st.builds(Order, st.sampled_from(sorted(SORT_KEYS)), st.booleans()),
)


@pytest.fixture
def model(qapp):
    made = RunsModel()
    tester = QAbstractItemModelTester(made, FATAL)
    yield made
    del tester


def texts(model: RunsModel, row: int = 0) -> list[str]:
    return [model.data(model.index(row, column)) for column in range(len(COLUMNS))]


@hypothesis.settings(max_examples=25)
@given(st.lists(versions, max_size=6))
def test_that_any_change_of_runs_filter_and_order_is_told_to_qt_as_it_is(qapp, changes) -> None:
    model = RunsModel()
    tester = QAbstractItemModelTester(model, FATAL)
    for version, words, order in changes:
        wanted = RunFilter(parse(words))
        model.set_rows(version)
        model.set_filter(wanted)
        model.set_order(order)
        assert sorted(row.id for row in model.rows) == sorted(
            row.id for row in version if wanted.fits(row)
        )
        assert {row.id: row for row in model.rows} == {
            row.id: row for row in version if wanted.fits(row)
        }
        live = [row.live for row in model.rows]
        assert live == sorted(live, reverse=True)
    del tester


@hypothesis.settings(max_examples=40)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True), st.data())
def test_that_selected_runs_stay_selected_when_others_come_and_go(
    qapp, names: list[str], data
) -> None:
    model = RunsModel()
    model.set_rows([run_row(name) for name in names])
    selection = QItemSelectionModel(model)
    chosen = data.draw(st.sets(st.sampled_from(names)))
    for name in chosen:
        row = model.row_of(name)
        assert row is not None
        flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        selection.select(model.index(row, RUN), flags)
    later = data.draw(st.lists(st.sampled_from("abcdefghijkl"), unique=True))
    model.set_rows([run_row(name, created=float(ord(name) * 7 % 5)) for name in later])
    assert {model.rows[index.row()].id for index in selection.selectedRows()} == chosen & set(later)


def test_that_a_kept_place_follows_its_run(model: RunsModel) -> None:
    model.set_rows([run_row("a"), run_row("b")])
    kept = QPersistentModelIndex(model.index(1, RUN))
    model.set_rows([run_row("a"), run_row("c"), run_row("d", state="running")])
    assert model.data(model.index(kept.row(), RUN)) == "plan a"


def test_that_only_the_row_that_changed_is_told_of(model: RunsModel, qtbot) -> None:
    model.set_rows([run_row("a"), run_row("b")])
    with qtbot.waitSignal(model.dataChanged) as told:
        model.set_rows([run_row("a", epoch=4), run_row("b")])
    assert told.args[0].row() == told.args[1].row() == 1
    with qtbot.assertNotEmitted(model.dataChanged):
        model.set_rows([run_row("a", epoch=4), run_row("b")])


def test_that_hundreds_of_runs_are_changed_in_few_words(model: RunsModel, qtbot) -> None:
    many = [run_row(f"{number:04}") for number in range(400)]
    told: list[str] = []
    model.rowsInserted.connect(lambda: told.append("inserted"))
    model.layoutChanged.connect(lambda: told.append("sorted"))
    model.dataChanged.connect(lambda: told.append("changed"))
    model.rowsRemoved.connect(lambda: told.append("removed"))
    model.set_rows(many)
    model.set_order(Order("run", descending=False))
    model.set_rows([replace(row, joules=1.0) for row in many])
    model.set_filter(RunFilter(parse('"plan 00"')))
    assert told == ["inserted", "sorted", "changed", "removed"]
    assert len(model.rows) == 100


def test_that_a_row_says_what_came_of_a_run(model: RunsModel) -> None:
    model.set_rows([run_row(created=time.time(), joules=11_160.0)])
    row = texts(model)
    assert row[RUN] == "plan a"
    assert row[STATE] == "finished"
    assert row[DURATION] == "1 min 02 s"
    assert row[BEST] == "0.9600"
    assert row[MEMORY] == "760 MiB"
    assert row[ENERGY] == "3.10 Wh"
    assert ":" in row[STARTED]
    assert model.data(model.index(0, BEST), Qt.ItemDataRole.ToolTipRole) == "val_accuracy, epoch 2"
    assert "11.2 kJ" in model.data(model.index(0, ENERGY), Qt.ItemDataRole.ToolTipRole)


def test_that_a_live_run_says_how_far_it_is_and_a_failed_one_why(model: RunsModel) -> None:
    model.set_rows(
        [
            run_row("a", state="running"),
            run_row("b", state="failed", reason="out of memory on GPU:1"),
        ]
    )
    assert texts(model, 0)[DURATION] == "epoch 3/30"
    assert texts(model, 1)[STATE] == "failed · out of memory on GPU:1"


def test_that_what_is_not_known_is_not_shown_as_zero(model: RunsModel) -> None:
    model.set_rows([run_row(best=None, peaks={}, seconds=None, losses=())])
    row = texts(model)
    assert [row[column] for column in (DURATION, BEST, MEMORY, ENERGY)] == ["–", "–", "–", "–"]


def test_that_the_head_names_the_metric_where_all_runs_have_the_same(model: RunsModel) -> None:
    def head() -> str:
        return model.headerData(BEST, Qt.Orientation.Horizontal)

    model.set_rows(
        [run_row("a"), run_row("b", best=BestValue("val_sparse_categorical_accuracy", 0.9, 1))]
    )
    assert head() == "Best accuracy"
    model.set_rows([run_row("a"), run_row("b", best=BestValue("val_loss", 0.2, 1))])
    assert head() == "Best"
    model.set_filter(RunFilter(parse("plan b")))
    assert head() == "Best loss"


def test_that_a_chosen_run_has_its_colour_and_no_other_does(model: RunsModel, qtbot) -> None:
    model.set_rows([run_row("a"), run_row("b")])
    with qtbot.waitSignal(model.dataChanged) as told:
        model.set_colours({"b": 3})
    assert (told.args[0].row(), told.args[0].column()) == (0, LOSS)
    assert [model.data(model.index(row, LOSS), COLOUR_ROLE) for row in (0, 1)] == [3, None]


@given(st.sets(st.integers(0, 40)))
def test_that_blocks_hold_each_number_once(numbers: set[int]) -> None:
    found = blocks(sorted(numbers))
    assert sorted(numbers) == [number for first, last in found for number in range(first, last + 1)]
    assert all(after[0] > before[1] + 1 for before, after in pairwise(found))


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=500))
def test_that_a_curve_stays_in_its_room_whatever_the_values(values: list[float]) -> None:
    room = QRectF(10, 20, 100, 16)
    points = curve_in(values, room)
    assert len(points) <= 2 * 100 + 2
    for point in points:
        assert room.adjusted(-1e-6, -1e-6, 1e-6, 1e-6).contains(point)


def test_that_a_row_is_its_summary_and_what_was_written_on_it() -> None:
    row: RunRow = run_row("a", ("best",), "a note")
    assert (row.id, row.name, row.live, row.labels.tags) == ("a", "plan a", False, ("best",))


def test_that_tags_without_room_are_counted_and_never_left_out_silently(qapp) -> None:
    assert tags_within(["best", "baseline", "mine"], 1000.0) == ["best", "baseline", "mine"]
    assert tags_within(["best", "baseline", "mine"], 90.0) == ["best", "+2"]
    assert tags_within(["best"], 5.0) == tags_within([], 100.0) == []
