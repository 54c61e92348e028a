from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.steady import SteadyClock


def test_that_times_which_only_rise_are_left_as_they_are():
    clock = SteadyClock()
    assert [clock.at(time) for time in (100.0, 100.0, 107.5)] == [100.0, 100.0, 107.5]


def test_that_after_the_clock_was_put_back_time_goes_on_at_its_own_pace():
    clock = SteadyClock()
    told = [3600.0, 3601.0, 1.0, 2.0, 3.0, 3700.0]
    assert [clock.at(time) for time in told] == [3600.0, 3601.0, 3601.0, 3602.0, 3603.0, 7300.0]


def test_that_a_time_which_is_no_number_is_the_newest_and_changes_none_after_it():
    clock = SteadyClock()
    assert [clock.at(time) for time in (5.0, math.nan, 6.0)] == [5.0, 5.0, 6.0]


@given(st.lists(st.floats(-1e12, 1e12), max_size=50))
def test_that_whatever_is_told_no_time_falls_and_each_is_finite(told):
    clock = SteadyClock()
    times = [clock.at(time) for time in told]
    assert times == sorted(times)
    assert all(math.isfinite(time) for time in times)
