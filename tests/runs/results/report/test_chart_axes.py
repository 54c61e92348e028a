"""Axes that begin and end at round values, and say what they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.results.report.chart import (
    bytes_axis,
    log_axis,
    number_axis,
    seconds_axis,
    steps_axis,
)

values = st.floats(-1e12, 1e12).filter(lambda value: value == 0 or abs(value) > 1e-12)


def is_sound(axis, low, high):
    places = [value for value, _ in axis.ticks]
    slack = 1e-6 * max(abs(axis.low), abs(axis.high))
    assert axis.low - slack <= low <= high <= axis.high + slack
    assert places == sorted(places)
    assert 1 <= len(places) <= 12
    assert len({text for _, text in axis.ticks}) == len(places)
    assert all(-1e-6 <= axis.place(value) <= 1 + 1e-6 for value in places)


@given(values, values)
def test_that_an_axis_of_numbers_holds_its_values(one, other):
    low, high = sorted((one, other))
    if high - low > 1e-9 * max(abs(low), abs(high)) or low == high:
        is_sound(number_axis(low, high), low, high)


@given(st.floats(1e-12, 1e12), st.floats(1.01, 1e15))
def test_that_a_logarithmic_axis_holds_its_values(low, factor):
    is_sound(log_axis(low, low * factor), low, low * factor)


@given(st.floats(0, 1e15))
def test_that_an_axis_of_memory_holds_its_values(high):
    is_sound(bytes_axis(high), 0.0, high)


@given(st.floats(1e-3, 1e9))
def test_that_an_axis_of_time_ends_where_the_time_does(high):
    axis = seconds_axis(high)
    is_sound(axis, 0.0, high)
    assert axis.high == high


@given(st.integers(0, 10**9))
def test_that_an_axis_of_steps_ends_where_the_training_does(high):
    is_sound(steps_axis(0.0, float(high)), 0.0, float(high))


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        (number_axis(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (number_axis(0.0, 100.0, " %"), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        (number_axis(3.0, 3.0), ["2.6", "2.8", "3.0", "3.2", "3.4"]),
        (log_axis(0.05, 2.3), ["0.05", "0.1", "0.2", "0.5", "1", "2", "5"]),
        (log_axis(1e-6, 1e3), ["1e-6", "1e-4", "1e-2", "1", "1e2"]),
        (
            log_axis(1e-4, 9e3),
            ["0.0001", "0.001", "0.01", "0.1", "1", "10", "100", "1,000", "10,000"],
        ),
        (bytes_axis(2.0**30), ["0 B", "256 MiB", "512 MiB", "768 MiB", "1 GiB"]),
        (seconds_axis(62.0), ["0 s", "15 s", "30 s", "45 s", "1 min"]),
        (seconds_axis(7000.0), ["0 s", "30 min", "1 h", "1 h 30 min"]),
        (steps_axis(0.0, 6000.0), ["0", "2,000", "4,000", "6,000"]),
    ],
)
def test_that_an_axis_is_written_for_a_person(axis, texts):
    assert [text for _, text in axis.ticks] == texts


def test_that_places_on_a_logarithmic_axis_are_logarithms():
    axis = log_axis(0.01, 100.0)
    assert axis.place(1.0) == pytest.approx(0.5)
    assert math.isclose(axis.place(0.01), 0.0, abs_tol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_that_an_axis_of_steps_is_marked_at_whole_steps_only(low: int, span: int) -> None:
    ticks = steps_axis(low, low + span).ticks
    assert all(value == int(value) and text == f"{int(value):,}" for value, text in ticks)
