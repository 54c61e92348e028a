from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs import wording
from gpu_studio.ui import units


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
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(None, "–"), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (12 << 30, "12.0 GiB"), (5 << 50, "5120.0 TiB")],
)
def test_that_memory_is_written_in_binary_units(amount, text):
    assert wording.size(amount) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (float("nan"), "–"), (0.0, "0.0000"), (0.12345, "0.1235"), (1.2e-5, "1.2e-05"), (1.5e6, "1.5e+06")],
)
def test_that_a_metric_keeps_digits_that_mean_something(value, text):
    assert wording.metric(value) == text


def test_that_rates_and_shares_have_their_units():
    assert wording.rate(12345.6) == "12,346 samples/s"
    assert wording.rate(0.123) == "0.12 samples/s"
    assert wording.rate(None) == wording.share(None) == "–"
    assert wording.share(0.123) == "12 %"


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
        (1234, "1,234 s"),
    ],
)
def test_that_a_short_time_has_a_unit_that_suits_it(seconds, text):
    assert wording.span(seconds) == text


def test_that_a_time_of_any_length_has_digits_that_mean_something():
    assert [wording.spent(each) for each in (0.0, 0.0382, 0.951, 75.0)] == ["0.0 s", "38.2 ms", "1.0 s", "1 min 15 s"]


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
    assert wording.energy(joules) == text


@given(st.floats(9.95, 1e6))
def test_that_a_time_reads_the_same_in_the_window_in_the_terminal_and_in_the_report(seconds: float) -> None:
    assert wording.duration(seconds) == units.duration(seconds)
