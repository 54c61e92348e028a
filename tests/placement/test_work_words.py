"""Floating-point operations in words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.work_words import flops_in_words


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 FLOP"),
        (12, "12 FLOP"),
        (1.5e3, "1.5 kFLOP"),
        (401_920, "402 kFLOP"),
        (999_600, "1 MFLOP"),
        (2e6, "2 MFLOP"),
        (3.25e9, "3.25 GFLOP"),
        (3e15, "3 PFLOP"),
        (3e21, "3000 EFLOP"),
    ],
)
def test_that_operations_are_counted_in_units_that_need_few_digits(count, text):
    assert flops_in_words(count) == text


@given(st.floats(min_value=0, max_value=9e20))
def test_that_no_count_is_written_with_more_than_three_digits_or_a_power_of_ten(count):
    assert re.fullmatch(r"\d{1,3}(\.\d{1,2})? [kMGTPE]?FLOP", flops_in_words(count))
