"""Calls and lists broken into lines, compared with `ruff format` itself."""

from __future__ import annotations

import subprocess

import pytest
from exported_scripts import RUFF
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_studio.export.script_text import (
    call,
    fill,
    indented,
    listing,
    literal,
    with_comments_wrapped,
)


def formatted(source: str) -> str:
    """What `ruff format` makes of it."""
    command = [*RUFF, "format", "--isolated", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


ARGUMENTS = st.lists(st.integers(0, 40).map(lambda size: literal("x" * size)), max_size=6)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(ARGUMENTS, st.sampled_from(["", "(x)"]), st.booleans()), min_size=20, max_size=40
    )
)
@settings(max_examples=15)
def test_that_calls_and_lists_stand_as_ruff_would_have_them(several):
    lines = []
    for arguments, after, is_list in several:
        form = (
            listing("x = ", arguments, indent=4)
            if is_list
            else call("x = ", "f", arguments, after=after, indent=4)
        )
        lines.append(indented(form, 4))
    source = "def f():\n" + "\n".join(lines) + "\n"
    assert formatted(source) == source


def test_that_wide_letters_count_twice():
    source = call("x = ", "f", [literal("字" * 41)]) + "\n"
    assert formatted(source) == source


def test_that_a_hole_with_a_line_of_its_own_takes_any_number_of_lines():
    piece = "def f($given):\n    $first\n    $none\n    $last"
    assert (
        fill(piece, given="x", first="a\n\nb", none="", last="c")
        == "def f(x):\n    a\n\n    b\n    c"
    )


def test_that_what_fills_a_hole_is_not_filled_again():
    assert fill("$first $second", first="$second", second="x") == "$second x"


def test_that_a_hole_without_a_value_is_an_error():
    with pytest.raises(KeyError):
        fill("$missing")


def test_that_long_comments_are_wrapped_and_short_ones_are_left():
    short = "# One line\n# and another.\n"
    assert with_comments_wrapped(short) == short
    wrapped = with_comments_wrapped("    # " + "word " * 30 + "\n    # end.\n")
    assert all(
        len(line) <= 88 and (not line or line.startswith("    # ")) for line in wrapped.split("\n")
    )
    assert [word for word in wrapped.split() if word != "#"] == ["word"] * 30 + ["end."]
