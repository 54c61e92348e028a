"""Values of a plan as source: a value goes in, and the same value, never code, comes out."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.export.script_text import comment, literal

TEXTS = st.text(max_size=30) | st.sampled_from(
    [
        '"""',
        "'''",
        '\\"',
        "\\",
        "\n",
        "\r",
        "\u2028",
        "\x00",
        "\ud800",
        '"; import os #',
        "{x}",
        "$name",
        "\u202e",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_that_a_literal_is_one_expression_that_gives_the_value(value):
    assert ast.literal_eval(literal(value)) == value
    assert "\n" not in literal(value)


def test_that_infinite_numbers_have_an_expression_too():
    assert eval(literal(float("inf"))) == float("inf")


def test_that_texts_are_in_double_quotes_unless_single_ones_need_fewer_escapes():
    assert literal("relu") == '"relu"'
    assert literal('say "x"') == "'say \"x\"'"
    assert literal('it\'s "x"') == "'it\\'s \"x\"'"


@given(st.text())
def test_that_a_comment_never_leaves_its_line(text):
    line = "# " + comment(text)
    assert len(line.splitlines()) == 1
    assert ast.parse(line).body == []


def test_that_what_has_no_literal_is_refused():
    with pytest.raises(TypeError, match="set"):
        literal({1, 2})
