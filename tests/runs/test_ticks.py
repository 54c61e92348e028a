"""Round numbers at which an axis is marked.

They lie in its range, are few, and no two are written alike.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.ticks import (
    binary_ticks,
    linear_ticks,
    log_ticks,
    round_range,
    round_step,
    time_ticks,
)

COUNTS = st.integers(1, 6)
MIB = 1024 * 1024


@st.composite
def ranges(draw, smallest=-1e6, largest=1e6):
    low = draw(st.floats(smallest, largest))
    return low, low + draw(st.floats(1e-3, 1e6))


@given(ranges(), COUNTS)
def test_that_linear_ticks_lie_in_the_range_a_step_apart_with_texts_that_differ(given_range, count):
    low, high = given_range
    found = linear_ticks(low, high, count)
    values = [value for value, _ in found]
    slack = 1e-7 * (high - low)
    assert all(low - slack <= value <= high + slack for value in values)
    assert len(values) <= count + 1
    assert len({text for _, text in found}) == len(found)
    assert np.allclose(np.diff(values), round_step(high - low, count))


@given(ranges(), COUNTS)
def test_that_a_round_range_holds_what_is_to_be_seen_in_so_many_rows(given_range, count):
    low, high = given_range
    bottom, top = round_range(low, high, count)
    slack = 1e-6 * (high - low)
    assert bottom <= low + slack
    assert top >= high - slack
    assert len(linear_ticks(bottom, top, count)) <= max(count, 2) + 1


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 3e33, ["0", "1e33", "2e33", "3e33"]),
        (0.0, 7.5e6, ["0", "2.5e6", "5e6", "7.5e6"]),
        (0.0, 2e-7, ["0", "1e-7", "2e-7"]),
        (0.0, 0.002, ["0.000", "0.001", "0.002"]),
    ],
)
def test_that_numbers_too_long_to_stand_beside_a_plot_are_written_with_a_power_of_ten(
    low, high, texts
):
    assert [text for _, text in linear_ticks(low, high, 3)] == texts


@pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e-9])
def test_that_a_range_of_one_value_gets_some_height(value):
    bottom, top = round_range(value, value, 4)
    assert bottom < value < top


@given(st.floats(-12, 6), st.floats(1e-3, 12), COUNTS)
def test_that_logarithmic_ticks_lie_in_the_range_at_their_logarithms(low, span, count):
    for height, text in log_ticks(low, low + span, count):
        assert low - 1e-6 <= height <= low + span + 1e-6
        assert float(text.replace(",", "")) == pytest.approx(10**height, rel=0.2, abs=1e-12)


def test_that_logarithmic_ticks_are_ones_twos_and_fives_where_there_is_room():
    assert [text for _, text in log_ticks(-1.05, 0.4, 5)] == ["0.1", "0.2", "0.5", "1", "2"]
    assert [text for _, text in log_ticks(-6.0, 2.0, 4)] == ["1e-6", "1e-4", "1e-2", "1", "1e2"]


def test_that_bytes_are_named_in_one_binary_unit():
    assert [text for _, text in binary_ticks(0, 1024 * MIB, 4)] == [
        "0.00 GiB", "0.25 GiB", "0.50 GiB", "0.75 GiB", "1.00 GiB",
    ]  # fmt: skip
    assert binary_ticks(0, 16 * 1024 * MIB, 4)[1] == (4 * 1024 * MIB, "4 GiB")
    assert [text for _, text in binary_ticks(0, 2 * MIB, 4)] == [
        "0.0 MiB",
        "0.5 MiB",
        "1.0 MiB",
        "1.5 MiB",
        "2.0 MiB",
    ]


@pytest.mark.parametrize(
    ("end", "texts"),
    [
        (1.0, ["0.00 s", "0.25 s", "0.50 s", "0.75 s", "1.00 s"]),
        (2.0, ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]),
        (10.0, ["0 s", "5 s", "10 s"]),
        (100.0, ["0 s", "30 s", "1 min", "1 min 30 s"]),
        (7200.0, ["0 s", "30 min", "1 h", "1 h 30 min", "2 h"]),
        (4 * 86400.0, ["0 s", "1 d", "2 d", "3 d", "4 d"]),
    ],
)
def test_that_moments_are_named_in_their_greatest_units(end, texts):
    assert [text for _, text in time_ticks(0.0, end, 4)] == texts


@pytest.mark.parametrize(
    ("start", "end", "texts"),
    [
        (6000, 6010, ["1:40:00", "1:40:05", "1:40:10"]),
        (3590, 3610, ["59 min 50 s", "1:00:00", "1:00:10"]),
        (90_000, 90_600, ["1 d 1:00", "1 d 1:05", "1 d 1:10"]),
        (90_000, 90_010, ["1 d 1:00:00", "1 d 1:00:05", "1 d 1:00:10"]),
        (172_800, 180_000, ["2 d", "2 d 1 h", "2 d 2 h"]),
        (-7300, 100, ["-2 h", "0 s"]),
        (-90_000, -89_400, ["-1 d 1:00", "-1 d 0:55", "-1 d 0:50"]),
    ],
)
def test_that_moments_late_in_a_run_are_told_apart(start, end, texts):
    assert [text for _, text in time_ticks(start, end, 2)] == texts


@given(st.floats(-1e7, 1e7), st.floats(0.01, 1e7), st.integers(1, 12))
def test_that_no_two_moments_are_named_alike(start, span, count):
    names = [text for _, text in time_ticks(start, start + span, count)]
    assert len(set(names)) == len(names)


@given(st.floats(0, 1e6), st.floats(0.01, 1e7), st.integers(1, 12))
def test_that_moments_are_few_enough_to_stand_beside_each_other(start, span, count):
    found = time_ticks(start, start + span, count)
    assert len(found) <= count + 1
    slack = 1e-6 * (1 + span)
    assert all(start - slack <= time <= start + span + slack for time, _ in found)


@given(st.floats(-12, 11), st.floats(0.5, 20), st.integers(2, 9))
def test_that_a_logarithmic_axis_is_written_in_one_way(
    low: float, height: float, count: int
) -> None:
    texts = [text for at, text in log_ticks(low, low + height, count) if not 0 <= at < 1]
    assert len({"e" in text for text in texts}) <= 1


def test_that_small_values_of_a_logarithmic_axis_do_not_mix_points_and_powers() -> None:
    assert [text for _, text in log_ticks(-6.2, 0.3, 4)] == ["1e-6", "1e-4", "1e-2", "1"]
    assert [text for _, text in log_ticks(-3.2, 0.3, 4)] == ["0.001", "0.01", "0.1", "1"]
