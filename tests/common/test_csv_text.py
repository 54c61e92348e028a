"""Lines of CSV."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.common.safe_files import csv_line


@pytest.mark.parametrize("text", ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_that_no_text_is_a_formula_to_a_spreadsheet(text):
    assert list(csv.reader(io.StringIO(csv_line([text, "x"]), newline=""), strict=True)) == [
        [f"'{text}", "x"]
    ]


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.integers(), st.none()), min_size=1))
def test_that_numbers_stay_numbers(numbers):
    [row] = csv.reader([csv_line([*numbers, *(str(each) for each in numbers if each is not None)])])
    known = [each for each in numbers if each is not None]
    assert [float(cell) for cell in row if cell] == [float(each) for each in (*known, *known)]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1)
)
def test_that_every_text_comes_back_from_a_line_of_csv(texts):
    [row] = csv.reader(io.StringIO(csv_line(["", *texts]), newline=""), strict=True)
    assert [cell.removeprefix("'") for cell in row[1:]] == [
        text.removeprefix("'") for text in texts
    ]
