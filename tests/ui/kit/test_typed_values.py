from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_strategies import options

from gpu_studio.plan.files import inline
from gpu_studio.ui.kit.fields.typed import (
    read_real,
    read_toml,
    read_whole,
    read_wholes,
    write_number,
    write_wholes,
)


@given(options())
def test_that_any_value_of_a_plan_is_written_on_a_line_and_read_back(given_options) -> None:
    text = inline(given_options)
    assert "\n" not in text
    assert read_toml(text) == given_options


@pytest.mark.parametrize(
    "text", ["", "fast", "1\nother = 2", "[1,", "2020-01-01", "inf", "99999999999999999999", "{"]
)
def test_that_what_no_plan_holds_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match=r"(Write|Give|give|number|value).*\."):
        read_toml(text)


@given(st.integers(-(10**30), 10**30))
def test_that_whole_numbers_of_any_size_are_read_with_spaces_between(value: int) -> None:
    assert (
        read_whole(f" {value:_}".replace("_", "\u2009")) == value == read_whole(write_number(value))
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_that_numbers_are_read_back_exactly(value: float) -> None:
    assert read_real(write_number(value)) == value


@pytest.mark.parametrize("text", ["", "one", "nan", "inf", "1.2.3"])
def test_that_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Give a number"):
        read_real(text)


@given(st.lists(st.integers(-(2**40), 2**40)))
def test_that_lists_are_read_back_exactly(values: list[int]) -> None:
    assert read_wholes(write_wholes(values)) == values


@pytest.mark.parametrize(
    ("text", "values"), [("1 2", [1, 2]), ("[3;4]", [3, 4]), ("5,", [5]), ("", []), ("[]", [])]
)
def test_that_lists_are_read_as_people_write_them(text: str, values: list[int]) -> None:
    assert read_wholes(text) == values


@pytest.mark.parametrize("value", ["many", 3.5, [True], {"a": 1}, [1.5]])
def test_that_what_is_no_list_of_whole_numbers_is_shown_as_it_stands(value) -> None:
    assert read_toml(write_wholes(value)) == value


@given(options())
def test_that_what_is_written_can_stand_in_a_plan_file(given_options) -> None:
    text = f"[model]\nname = 'mlp'\n[training]\noptions = {inline(given_options)}\n"
    tables = tomllib.loads(text)
    assert tables["training"]["options"] == given_options
