"""Texts of strangers are cut to what a person can read."""

from __future__ import annotations

from gpu_studio.common.cut_texts import (
    LONGEST_LINE,
    MOST_LINES,
    cut,
    cut_apart,
    cut_lines,
    first_lines,
)


def test_that_a_text_which_fits_stays_and_a_longer_one_ends_in_an_ellipsis():
    assert cut("word", 4) == "word"
    assert cut("words", 4) == "wor…"


def test_that_texts_which_differ_stay_different_once_they_are_cut():
    one, other = ("x" * 100_000 + end for end in "ab")
    assert cut(one, 80) == cut(other, 80)
    assert cut_apart(one, 80) != cut_apart(other, 80)
    assert {len(cut_apart(each, 80)) for each in (one, other)} == {80}
    assert cut_apart("\udcff" * 99, 80)
    assert cut_apart("short", 80) == "short"


def test_that_each_line_is_cut_and_that_a_refusal_has_only_so_many():
    text = "\n".join(["x" * 100_000, *map(str, range(10_000))])
    assert cut_lines(text).split("\n")[0] == "x" * (LONGEST_LINE - 1) + "…"
    assert cut_lines(text).endswith("\n9999")
    lines = first_lines(text).split("\n")
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "… and 9801 more lines"
    assert first_lines("a\nb") == "a\nb"
