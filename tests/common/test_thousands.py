"""One style of thousands separators for people, and none in files for programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpu_studio
from gpu_studio.common import figures
from gpu_studio.common.figures import grouped
from gpu_studio.runs.ticks import count_ticks
from gpu_studio.ui.kit.fields.typed import read_whole

SOURCES = sorted(Path(gpu_studio.__file__).parent.rglob("*.py"))
OTHER_STYLE = re.compile(
    r"""\\u2009|\\u202f(?=\d)|\u2009|:_\}|replace\(["'],["'], ["'](?:[ \u2009\u202f']|)["']\)"""
)


@given(st.integers(-(10**24), 10**24))
def test_that_a_number_is_told_by_all_in_one_way_and_read_again(number: int) -> None:
    assert grouped(number).replace(",", "") == str(number)
    assert all(1 <= len(group) <= 3 for group in grouped(abs(number)).split(","))
    assert figures.plural(number, "step").startswith(grouped(number))
    assert read_whole(grouped(number)) == number


@given(st.integers(10, 999).map(lambda number: number * 1000))
def test_that_figures_ticks_and_rates_write_thousands_alike(number: int) -> None:
    words = (
        figures.metric(number),
        figures.throughput(number).removesuffix(" samples/s"),
        figures.size(number * figures.UNITS["GiB"], "GiB").removesuffix(" GiB"),
    )
    assert set(words) == {grouped(number)}
    told = [text for _, text in count_ticks(0.0, float(number), 5)]
    assert all(re.fullmatch(r"\d{1,3}(,\d{3})*", text) for text in told)


def test_that_what_looks_like_two_numbers_is_not_read_as_one() -> None:
    for text in ("1,5", "12,34", ",123", "1,2345", "1,234,5"):
        with pytest.raises(ValueError, match="whole number"):
            read_whole(text)


def test_that_no_other_way_to_write_thousands_is_in_the_source() -> None:
    others = [
        f"{path.name}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        # What a person types is read in the one style alone.
        if OTHER_STYLE.search(line) and "_GROUPED.fullmatch(" not in line
    ]
    assert others == []
