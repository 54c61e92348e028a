"""What is kept of a figure over a day, and what is drawn of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.contract.samples import Fast, FastFigures
from gpu_studio.hardware.device_history import (
    LONGEST_GAP,
    LONGEST_SPAN,
    MOST_POINTS,
    TIERS,
    DeviceHistory,
    DeviceTrace,
)

DAY = 86_400
MOST_NUMBERS = 12_500
"""Numbers kept of a trace at most: 0.2 MiB with their times."""


@pytest.fixture(scope="module")
def day() -> DeviceTrace:
    """A day and a half at one point a second: 50, but for one peak ten hours before its end."""
    trace = DeviceTrace(peaks=True)
    for second in range(DAY + DAY // 2):
        trace.add(float(second), 100.0 if second == DAY // 2 + 50_000 else 50.0)
    return trace


def test_that_memory_is_bounded_however_long_it_goes(day: DeviceTrace) -> None:
    assert len(day) <= MOST_NUMBERS


def test_that_a_view_of_a_day_has_no_more_points_than_pixels_and_keeps_the_peak(
    day: DeviceTrace,
) -> None:
    stretch = day.stretch(DAY / 2, float(DAY))
    assert len(stretch.times) <= 1000
    assert stretch.values.max() == 100
    assert stretch.times[0] <= DAY / 2 + 2 * stretch.period


def test_that_a_near_view_has_every_point(day: DeviceTrace) -> None:
    end = DAY * 1.5
    stretch = day.stretch(end - LONGEST_SPAN, LONGEST_SPAN)
    inside = stretch.times[stretch.times >= end - LONGEST_SPAN]
    assert np.diff(inside).max() == 1.0
    assert stretch.period == 0.0


def test_that_a_near_view_of_long_ago_has_the_finest_that_is_left(day: DeviceTrace) -> None:
    assert [day.stretch(DAY * 1.5 - back, 300.0).period for back in (300, 5 * 3600, 20 * 3600)] == [
        0.0,
        5.0,
        30.0,
    ]


@given(values=st.lists(st.floats(0, 100), min_size=1, max_size=200))
def test_that_a_bucket_is_worth_the_mean_or_the_peak_of_its_points(values) -> None:
    means, peaks = DeviceTrace(), DeviceTrace(peaks=True)
    for trace in (means, peaks):
        for place, value in enumerate(values):
            trace.add(place * TIERS[-1].period / 200, value)
        trace.add(2 * TIERS[-1].period, 0.0)
    assert means.stretch(0.0, DAY).values[0] == pytest.approx(np.mean(values), abs=1e-9)
    assert peaks.stretch(0.0, DAY).values[0] == max(values)


@pytest.mark.parametrize("span", [60.0, 4_000.0, 20_000.0, 90_000.0])
def test_that_a_gap_is_longer_than_what_is_joined_at_every_span(span: float) -> None:
    trace = DeviceTrace()
    for second in [*range(600), *range(1200, 1800)]:
        trace.add(float(second), 1.0)
    trace.add(5000.0, 1.0)
    stretch = trace.stretch(0.0, span)
    steps = np.diff(stretch.times)
    assert (steps > stretch.longest_gap).sum() == 2 - (stretch.period > 0), (
        "the newest bucket is not full yet"
    )
    assert stretch.period <= 2 * LONGEST_GAP or steps.max() > 500


def test_that_nothing_is_known_in_a_gap_or_before_the_beginning() -> None:
    trace = DeviceTrace()
    for second in (100.0, 101.0, 500.0):
        trace.add(second, second)
    assert [trace.value_at(time) for time in (99.0, 100.5, 101 + LONGEST_GAP, 300.0, 500.0)] == [
        None, 100.0, 101.0, None, 500.0,
    ]  # fmt: skip


def test_that_a_card_has_idled_only_for_as_long_as_it_was_watched() -> None:
    trace = DeviceTrace()
    for second in range(100):
        trace.add(float(second), 50.0 if second < 40 else 0.0)
    assert trace.last_above(1.0) == 59.0
    trace.add(500.0, 0.0)
    assert trace.last_above(1.0) == 0.0
    trace.add(505.0, 0.0)
    assert trace.last_above(1.0) == 5.0
    assert DeviceTrace().last_above(1.0) == 0.0


def test_that_points_are_kept_in_order_when_the_room_is_used_again() -> None:
    trace = DeviceTrace()
    for second in range(3 * MOST_POINTS):
        trace.add(float(second), float(second))
    stretch = trace.stretch(3.0 * MOST_POINTS - 100, 100.0)
    assert len(stretch.times) >= MOST_POINTS
    assert (stretch.times == stretch.values).all()
    assert (np.diff(stretch.times) == 1).all()


def test_that_a_clock_put_back_makes_no_curve_run_backwards() -> None:
    history = DeviceHistory()
    for time in (100.0, 50.0, 101.0):
        history.add(Fast(time=time, cards=[FastFigures(card="a", utilisation_percent=1)]))
    stretch = history.stretch("a", "utilisation", 0.0, 200.0)
    assert stretch is not None
    assert (np.diff(stretch.times) >= 0).all()
    assert history.stretch("a", "power", 0.0, 200.0) is None
    assert history.value_at("b", "power", 0.0) is None
