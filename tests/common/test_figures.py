from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.common import figures


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (float("inf"), "–"),
        (0.44, "0.4 s"),
        (12.4, "12 s"),
        (9.96, "10 s"),
        (53.6, "54 s"),
        (59.9, "1 min 00 s"),
        (60, "1 min 00 s"),
        (187, "3 min 07 s"),
        (3723, "1 h 02 min"),
        (183845, "51 h 04 min"),
    ],
)
def test_that_a_time_is_written_for_a_person(seconds, text):
    assert figures.duration(seconds) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "–"),
        (0, "0 B"),
        (1023, "1,023 B"),
        (1536, "1.5 KiB"),
        (12 << 30, "12 GiB"),
        (5 << 50, "5,120 TiB"),
    ],
)
def test_that_memory_is_written_in_binary_units(amount, text):
    assert figures.size(amount) == text


def test_that_nothing_is_written_alike_in_any_list_and_a_little_is_not_nothing():
    assert figures.size(0, "MiB") == figures.size(0) == "0 B"
    assert figures.size(19 << 10, "MiB") == "< 0.1 MiB"
    assert figures.size_of(19 << 10, 1 << 30) == "< 0.1 / 1,024 MiB"
    assert (figures.amount_in(0, "MiB"), figures.amount_in(60 << 10, "MiB")) == ("0", "0.1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "not a number"),
        (float("nan"), "not a number"),
        (float("-inf"), "not a number"),
        (0.0, "0"),
        (12.3456, "12.35"),
        (-12.3456, "-12.35"),
        (9.99996, "10.00"),
        (0.12345, "0.1235"),
        (0.0123, "0.01230"),
        (1.2e-5, "1.200e-05"),
        (12345.6, "12,346"),
        (1.5e6, "1.500e+06"),
    ],
)
def test_that_a_metric_keeps_digits_that_mean_something(value, text):
    assert figures.metric(value) == text


def test_that_rates_and_shares_have_their_units():
    assert figures.throughput(12345.6) == "12,300 samples/s"
    assert figures.throughput(0.123) == "0.12 samples/s"
    assert figures.throughput(None) == figures.share(None) == "–"
    assert figures.share(0.123) == "12 %"
    small = (0.5, 0.0342, 0.001, 0.0002, 0.0)
    assert [*map(figures.small_share, small)] == ["50.0 %", "3.4 %", "0.1 %", "0.02 %", "0.0 %"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.00082, "820 µs"),
        (0.0009999, "1.00 ms"),
        (0.0041, "4.10 ms"),
        (0.99, "990 ms"),
        (1.25, "1.25 s"),
        (59.96, "1 min 00 s"),
        (187, "3 min 07 s"),
    ],
)
def test_that_a_short_time_has_a_unit_that_suits_it(seconds, text):
    assert figures.span(seconds) == text


def test_that_a_time_of_any_length_has_digits_that_mean_something():
    assert [figures.spent(each) for each in (0.0, 0.0382, 0.951, 75.0)] == [
        "0.0 s",
        "38.2 ms",
        "1.0 s",
        "1 min 15 s",
    ]


@pytest.mark.parametrize("seconds", [1e300, -1e300, 1e12, -1e12, float("nan"), float("inf")])
def test_that_a_time_without_a_date_is_unknown(seconds):
    assert [figures.moment(seconds), figures.clock(seconds)] == [figures.UNKNOWN] * 2


def test_that_a_moment_has_as_much_of_its_date_as_tells_it_from_now():
    now = time.time()
    assert figures.moment(now) == time.strftime("%H:%M", time.localtime(now))
    assert figures.moment(0.0) == time.strftime("%d %b %Y", time.localtime(0))


@pytest.mark.parametrize(
    ("joules", "text"),
    [
        (None, "–"),
        (float("inf"), "–"),
        (0, "0 J"),
        (812, "812 J"),
        (999.7, "1.00 kJ (0.278 Wh)"),
        (40_200, "40.2 kJ (11.2 Wh)"),
        (999_700, "1.00 MJ (278 Wh)"),
        (7.2e9, "7,200 MJ (2,000 kWh)"),
    ],
)
def test_that_an_energy_is_told_in_watt_hours_too(joules, text):
    assert figures.energy(joules) == text


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
    assert figures.flops(count) == text


@given(st.floats(min_value=0, max_value=9e20))
def test_that_no_count_is_written_with_more_than_three_digits_or_a_power_of_ten(count):
    assert re.fullmatch(r"\d{1,3}(\.\d{1,2})? [kMGTPE]?FLOP", figures.flops(count))


@pytest.mark.parametrize(
    ("part", "whole", "says"),
    [
        (0.5 * figures.GIB, 24 * figures.GIB, "0.5 / 24 GiB"),
        (545.5 * figures.MIB, figures.GIB, "546 / 1,024 MiB"),
        (5.2 * figures.GIB, 8 * figures.GIB, "5.2 / 8 GiB"),
        (0, 2 * figures.GIB, "0 / 2,048 MiB"),
    ],
)
def test_that_a_part_and_its_whole_share_a_unit_in_which_the_part_tells_something(
    part, whole, says
):
    assert figures.size_of(part, whole) == says


def test_that_thousands_are_written_as_chosen():
    try:
        figures.write_thousands("\u202f")
        assert figures.plural(12_345, "step") == "12\u202f345 steps"
        assert figures.metric(12_345.6) == "12\u202f346"
        figures.write_thousands("")
        assert figures.throughput(38_412.0) == "38400 samples/s"
        assert figures.size(1023 * figures.MIB) == "1023 MiB"
    finally:
        figures.write_thousands(",")
    assert figures.grouped(12_345.678, 1) == "12,345.7"
