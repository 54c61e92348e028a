"""Problems as sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan import PlanError, Problem
from gpu_studio.plan.options import choose_one, nearest
from gpu_studio.plan.values import (
    LONGEST_SHOWN,
    listed,
    path_to,
    printable,
    shown,
)


def test_that_a_problem_is_one_sentence():
    problem = Problem("training.batch_size", "0", "give a whole number of 1 or more")

    assert str(problem) == "training.batch_size is 0: give a whole number of 1 or more."


def test_that_a_question_ends_with_its_own_mark():
    assert str(Problem("a", "b", "did you mean c?")) == "a is b: did you mean c?"


def test_that_an_error_lists_every_problem_below_its_source():
    error = PlanError([Problem("a", "1", "x"), Problem("b", "2", "y")], "my.plan.toml")

    assert (
        str(error)
        == "my.plan.toml cannot be used; 2 things need mending:\n  a is 1: x.\n  b is 2: y."
    )


def test_that_one_problem_is_one_thing():
    assert "1 thing needs mending" in str(PlanError([Problem("a", "1", "x")]))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("a", '"a"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("a\nb", '"a\\nb"'),
        (1.5, "1.5"),
        ([1, "a"], '[1, "a"]'),
        ({"a": [True]}, "{ a = [true] }"),
        (10**100, "a number of 333 bits"),
    ],
)
def test_that_values_are_shown_as_a_plan_writes_them(value, text):
    assert shown(value) == text


@pytest.mark.slow
@given(
    st.recursive(
        st.text() | st.integers() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_that_whatever_is_shown_fits_a_line(value):
    assert shown(value).isprintable()
    assert len(shown(value)) <= LONGEST_SHOWN


@pytest.mark.slow
@given(st.text(), st.text())
def test_that_a_path_fits_a_line(path, key):
    assert path_to(printable(path), key).isprintable()


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ("abc", "a, b and c")]
)
def test_that_names_are_listed_as_in_a_sentence(names, text):
    assert listed(names) == text


@pytest.mark.parametrize(
    ("name", "close"),
    [("batchsize", "batch_size"), ("EPOCHS", "epochs"), ("epoch", "epochs"), ("zzz", None)],
)
def test_that_the_nearest_name_is_found(name, close):
    assert nearest(name, ["batch_size", "epochs", "optimizer"]) == close


def test_that_many_names_are_listed_only_where_none_is_near():
    names = [f"name_{letter}" for letter in "abcdefghijkl"]

    assert choose_one("name_x", names).startswith("did you mean name_")
    assert "There are" not in choose_one("name_x", names)
    assert choose_one("zzzzz", names) == f"choose one of {listed(names, 'or')}"
