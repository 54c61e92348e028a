from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from run_rows import run_row

from gpu_studio.runs.labels import Labels
from gpu_studio.ui.runs.lower_part import RunColours
from gpu_studio.ui.runs.run_rows import names_apart, short_names

ids = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def test_that_runs_of_one_plan_are_told_apart_by_their_numbers_however_short_their_names() -> None:
    rows = [
        run_row(name, plan="digits on two logical CPUs", number=number)
        for name, number in (("a", 7), ("b", 12))
    ]
    names = names_apart(rows)
    assert list(names.values()) == [
        "#7 digits on two logical CPUs",
        "#12 digits on two logical CPUs",
    ]
    for most in (3, 5, 12, 20):
        shown = list(short_names(names, most).values())
        assert (shown[0].split(" ")[0], shown[1].split(" ")[0]) == ("#7", "#12")
        assert all(len(name) <= max(most, len("#12")) for name in shown)
    assert short_names({"a": "#1 sweep first", "b": "#2 sweep second"}, 20) == {
        "a": "#1 first",
        "b": "#2 second",
    }


def test_that_a_run_is_called_by_the_name_that_it_was_given() -> None:
    row = run_row("a", plan="digits", number=7)
    assert replace(row, labels=Labels(name="smaller steps")).title == "#7 smaller steps"


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdefgh"), st.text(max_size=30)),
        max_size=8,
        unique_by=lambda each: each[0],
    )
)
def test_that_no_two_runs_are_called_alike_whatever_their_plans(runs) -> None:
    rows = [run_row(name, plan=plan) for name, plan in runs]
    names = names_apart(rows)
    for made in (names, short_names(names, 12)):
        assert list(made) == [row.id for row in rows]
        assert len(set(made.values())) == len(rows)


def test_that_short_names_leave_out_how_all_of_them_begin() -> None:
    assert short_names({"a": "sweep of lr 1", "b": "sweep of lr 2"}, 9) == {"a": "1", "b": "2"}
    assert short_names({"a": "a long name", "b": "a long nose"}, 4) == {"a": "name", "b": "nose"}
    assert short_names({"a": "one thingumajig", "b": "one thinker"}, 4) == {
        "a": "th…g",
        "b": "th…r",
    }
    assert short_names({"a": "sweep"}, 9) == {"a": "sweep"}
    assert short_names({"a": "x", "b": "x y"}, 9) == {"a": "x", "b": "x y"}


@given(st.lists(ids, max_size=8))
def test_that_a_run_keeps_its_colour_for_as_long_as_it_is_chosen(choices: list[list[str]]) -> None:
    colours = RunColours()
    for chosen in choices:
        before = colours.numbers
        now = colours.choose(chosen)
        assert set(now) == set(chosen)
        assert len(set(now.values())) == len(chosen)
        assert all(now[run] == before[run] for run in chosen if run in before)
        assert all(number < 8 for number in now.values())
