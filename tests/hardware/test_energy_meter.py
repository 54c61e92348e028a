"""The energy of one card: a counter where there is one, else the integral of the power."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.hardware.accounting import LONGEST_GAP, EnergyMeter

steps = st.floats(0.01, LONGEST_GAP)
watts = st.floats(0, 1000)


def moments(gaps):
    """Times that are so far apart."""
    time, found = 1e9, []
    for gap in gaps:
        time += gap
        found.append(time)
    return found


@given(st.lists(st.tuples(steps, watts), min_size=2, max_size=40))
def test_that_the_power_is_integrated_by_trapezoids(told):
    meter = EnergyMeter()
    times = moments(gap for gap, _ in told)
    for time, (_, power) in zip(times, told, strict=True):
        meter.power(time, power)
    pairs = zip(times, told, times[1:], told[1:], strict=False)
    expected = sum((end - begin) * (one + other) / 2 for begin, (_, one), end, (_, other) in pairs)
    assert meter.joules == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert meter.seconds == pytest.approx(times[-1] - times[0])
    assert meter.source == "power"


@given(st.lists(st.tuples(st.booleans(), steps), min_size=2, max_size=40), watts)
def test_that_counter_and_power_together_count_each_second_once(told, power):
    meter = EnergyMeter()
    times = moments(gap for _, gap in told)
    meter.power(times[0], power)
    for time, (counted, _) in zip(times, told, strict=True):
        (meter.counter if counted else meter.power)(
            time, 7e6 + power * (time - times[0]) if counted else power
        )
    end = times[-1]
    meter.power(end, power)
    assert (meter.joules or 0.0) == pytest.approx(power * meter.seconds, rel=1e-4, abs=1e-2)
    assert meter.seconds <= end - times[0] + 1e-3


@given(watts, watts, st.floats(LONGEST_GAP + 0.01, 1e6))
def test_that_a_gap_is_not_made_up_from_its_ends(before, after, gap):
    meter = EnergyMeter()
    for time, power in ((0.0, before), (1.0, before), (1.0 + gap, after), (2.0 + gap, after)):
        meter.power(time, power)
    assert meter.joules == pytest.approx(before + after)
    assert meter.seconds == pytest.approx(2.0)


def test_that_a_counter_read_after_a_gap_brings_no_old_power_with_it():
    meter = EnergyMeter()
    meter.power(0.0, 100.0)
    meter.power(1.0, 100.0)
    meter.counter(100.0, 0.0)
    meter.power(101.0, 500.0)
    assert (meter.joules, meter.seconds) == (100.0, 1.0)
    meter.power(102.0, 500.0)
    assert (meter.joules, meter.seconds) == (600.0, 2.0)


def test_that_the_counter_bridges_what_was_not_recorded():
    meter = EnergyMeter()
    meter.counter(0.0, 5_000_000.0)
    meter.counter(3600.0, 5_360_000.0)
    assert (meter.joules, meter.seconds, meter.source) == (360_000.0, 3600.0, "counter")


def test_that_a_counter_which_began_anew_takes_nothing_away():
    meter = EnergyMeter()
    meter.counter(0.0, 9_000.0)
    for second in range(11):
        meter.power(float(second), 100.0)
    meter.counter(10.0, 12.0)  # the driver was loaded again
    meter.counter(15.0, 512.0)
    assert meter.joules == pytest.approx(1000.0 + 500.0)
    assert meter.seconds == pytest.approx(15.0)


def test_that_the_counter_is_believed_over_the_power():
    meter = EnergyMeter()
    meter.power(0.0, 300.0)
    meter.counter(0.0, 1000.0)
    for second in range(1, 6):
        meter.power(float(second), 300.0)
    meter.counter(5.0, 2000.0)
    assert (meter.joules, meter.source) == (1000.0, "counter")


def test_that_a_clock_that_was_put_back_takes_nothing_away():
    meter = EnergyMeter()
    for time in (10.0, 11.0, 4.0, 5.0):
        meter.power(time, 50.0)
    assert (meter.joules, meter.seconds) == (100.0, 2.0)


def test_that_without_two_samples_nothing_is_known():
    meter = EnergyMeter()
    assert (meter.joules, meter.source) == (None, "")
    meter.power(0.0, 300.0)
    assert (meter.joules, meter.source) == (None, "")
