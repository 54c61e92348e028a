"""The points of a plot as CSV: read back by Python's own reader, row by row."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.ui.train.plot_files import Column, PlotTable

BEGUN = 1_800_000_000.0
TIMES = st.lists(st.integers(0, 500), max_size=60, unique=True).map(
    lambda found: BEGUN + np.array(sorted(found)) / 4
)


def table_of(columns, start=BEGUN, end=BEGUN + 1000, steps=1000, per=100):
    times = BEGUN + 1 + np.arange(steps) / 10
    return PlotTable(columns, start, end, times, np.arange(1.0, steps + 1), per)


def rows_of(table, separator=","):
    return list(csv.reader(io.StringIO("".join(table.chunks(separator))), delimiter=separator))


@given(TIMES, TIMES, st.integers(0, 60), st.integers(61, 130))
def test_that_every_point_in_sight_has_its_cell_and_no_other_is_filled(one, other, start, end):
    columns = [
        Column("loss", one, np.arange(len(one)) + 0.5),
        Column("val_loss", other, np.arange(len(other)) + 0.25),
    ]
    rows = rows_of(table_of(columns, BEGUN + start, BEGUN + end))
    assert rows[0] == ["time", "step", "epoch", "loss", "val_loss"]
    for place, column in enumerate(columns, start=3):
        inside = (column.times >= BEGUN + start) & (column.times <= BEGUN + end)
        told = [
            (datetime.fromisoformat(row[0]).timestamp(), float(row[place]))
            for row in rows[1:]
            if row[place]
        ]
        assert told == list(zip(column.times[inside], column.values[inside], strict=True))
    moments = [row[0] for row in rows[1:]]
    assert moments == sorted(set(moments))


@pytest.mark.parametrize("separator", [",", "\t"])
def test_that_no_name_of_a_run_is_a_formula_to_a_spreadsheet(separator):
    column = Column("=cmd|calc", np.array([BEGUN + 1]), np.array([1.0]))
    assert rows_of(table_of([column]), separator)[0][-1] == "'=cmd|calc"


def test_that_a_row_tells_the_newest_step_and_its_epoch():
    column = Column(
        "power (W)", BEGUN + np.array([0.5, 1.0, 10.95, 11.05, 500.0]), np.full(5, 300.0)
    )
    rows = rows_of(table_of([column]))[1:]
    assert [row[1:3] for row in rows] == [
        ["", ""],
        ["1", "1"],
        ["100", "1"],
        ["101", "2"],
        ["1000", "10"],
    ]
    assert rows[0][0] == datetime.fromtimestamp(BEGUN + 0.5, UTC).isoformat().replace(
        "+00:00", "000Z"
    ).replace("000Z", "Z")
    assert [row[2] for row in rows_of(table_of([column], per=0))[1:]] == [""] * 5


def test_that_what_is_no_number_is_told_and_what_is_not_known_is_empty():
    one = Column("a", BEGUN + np.array([1.0, 2.0]), np.array([np.nan, np.inf]))
    other = Column("b", BEGUN + np.array([2.0]), np.array([1e-12]))
    assert [row[3:] for row in rows_of(table_of([one, other]))[1:]] == [
        ["nan", ""],
        ["inf", "1e-12"],
    ]


@pytest.mark.parametrize("name", ["GPU:0, GPU:1 in use", 'a "b"', "two\nlines"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_that_a_heading_of_any_letters_is_read_back_as_it_was(name, separator):
    assert rows_of(table_of([Column(name, np.array([BEGUN]), np.ones(1))]), separator)[0][3] == name


def test_that_without_points_and_before_the_first_step_there_are_no_rows():
    assert rows_of(table_of([])) == [["time", "step", "epoch"]]
    column = Column("a", np.array([BEGUN]), np.ones(1))
    assert rows_of(table_of([column], steps=0))[1][1:3] == ["", ""]
    assert len(table_of([column], start=BEGUN + 1).moments()) == 0


def test_that_long_tables_come_in_pieces():
    column = Column("a", BEGUN + np.arange(20_000.0), np.zeros(20_000))
    pieces = list(table_of([column], end=BEGUN + 1e9).chunks(","))
    assert len(pieces) == 6
    assert sum(piece.count("\n") for piece in pieces) == 20_001
