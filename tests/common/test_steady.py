from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.common import figures
from gpu_studio.common.steady import LATEST, SteadyClock


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


def test_that_every_time_has_a_date_however_a_file_sets_the_clock():
    clock = SteadyClock()
    told = [(LATEST, 0.0), (0.0, 0.0), (LATEST, 0.0), (LATEST, 1e10), (0.0, 9e9), (LATEST, 1e10)]
    assert {figures.moment(clock.at(*each)) for each in told} == {figures.moment(LATEST)}


YEAR = 365 * 86_400.0


@pytest.mark.parametrize("off", [YEAR, -YEAR])
def test_that_a_clock_that_is_set_changes_no_time_where_one_is_told_that_nobody_sets(off):
    clock = SteadyClock()
    told = [(1000.0, 0.5), (1001.0, 1.5), (1002.0 + off, 2.5), (1004.0 + off, 4.5)]
    assert [clock.at(*each) for each in told] == [1000.0, 1001.0, 1002.0, 1004.0]
    assert clock.behind == -off


def test_that_another_process_counts_from_a_moment_of_its_own():
    clock = SteadyClock()
    told = [(1000.0, 50.0), (1010.0, 60.0), (1030.0, 0.5), (1031.0 + YEAR, 1.5)]
    assert [clock.at(*each) for each in told] == [1000.0, 1010.0, 1030.0, 1031.0]


def test_that_lines_of_an_older_program_may_stand_between_others():
    clock = SteadyClock()
    told = [(1000.0, 1.0), (1001.0 + YEAR, 2.0), (1002.0 + YEAR, 0.0), (1003.0 + YEAR, 4.0)]
    assert [clock.at(*each) for each in told] == [1000.0, 1001.0, 1002.0, 1003.0]


@given(
    st.lists(
        st.tuples(st.floats(-1e12, 1e12), st.floats(0, 1e308) | st.just(math.nan)), max_size=50
    )
)
def test_that_whatever_is_told_no_time_falls_and_each_is_finite(told):
    clock = SteadyClock()
    times = [clock.at(*each) for each in told]
    assert times == sorted(times)
    assert all(math.isfinite(time) for time in times)
