"""A table that fits a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.cli.runs.compare import GAP, NARROWEST, fitted, shortened

words = st.text("abcdefgh 0123", max_size=40)
tables = st.integers(2, 6).flatmap(
    lambda count: st.lists(st.lists(words, min_size=count, max_size=count), min_size=1, max_size=6)
)


def test_that_a_table_with_room_is_left_as_it_is():
    rows = [["", "one", "another"], ["loss", "0.1", "0.25 *"]]
    assert list(fitted(rows, 80)) == ["      one  another", "loss  0.1  0.25 *"]


def test_that_the_widest_column_gives_first():
    rows = [["run", "x" * 60, "digits-3f21"]]
    [line] = fitted(rows, 50)
    assert len(line) == 50
    assert line.endswith("digits-3f21")
    assert "…" in line


def test_that_columns_that_cannot_be_narrower_go_below():
    rows = [["", *(f"run number {n} of seven" for n in range(3))], ["loss", "1", "2", "3"]]
    lines = list(fitted(rows, 4 + 2 * (NARROWEST + GAP)))
    assert lines.count("") == 1
    assert [line.split() for line in lines if line.startswith("loss")] == [
        ["loss", "1", "2"],
        ["loss", "3"],
    ]


@given(tables, st.integers(20, 120))
def test_that_no_line_is_wider_than_the_terminal_if_one_column_can_be_shown(rows, width):
    first = max(len(row[0]) for row in rows)
    lines = list(fitted(rows, width))
    if first + GAP + NARROWEST <= width:
        assert all(len(line) <= width for line in lines)
    shown = " ".join(lines)
    for row in rows:
        assert all(cell[:8].strip() in shown for cell in row[1:])


@given(st.text(max_size=60), st.integers(3, 40))
def test_that_a_text_is_cut_in_its_middle(text, width):
    cut = shortened(text, width)
    assert len(cut) == min(len(text), width)
    if len(text) > width:
        assert text.startswith(cut.partition("…")[0])
