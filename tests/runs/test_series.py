from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpu_studio.runs.reading.series import Series

values = st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))


def test_that_points_come_out_as_they_went_in_while_there_is_room():
    series = Series("step", "loss", by="loss")
    series.add(1, 0.5)
    series.add([2, 3], [0.25, None])
    assert series.column("step").tolist() == [1, 2, 3]
    np.testing.assert_array_equal(series.column("loss"), [0.5, 0.25, np.nan])
    assert (len(series), series.total, series.group) == (3, 3, 1)


def test_that_one_number_stands_for_a_whole_column():
    series = Series("step", "time", by="step")
    series.add([1, 2, 3], 7.0)
    assert series.column("time").tolist() == [7, 7, 7]


def test_that_an_empty_series_has_no_last_point():
    series = Series("x", by="x")
    assert series.last("x") is None
    series.add([])
    assert series.column("x").size == 0
    series.add([4, 5])
    assert series.last("x") == 5


def test_that_a_view_cannot_be_written_and_costs_no_copy():
    series = Series("x", by="x")
    series.add(np.arange(100.0))
    view = series.column("x")
    assert not view.flags.writeable
    assert np.shares_memory(view, series.column("x"))
    assert view.flags.c_contiguous


def test_that_a_day_at_1000_steps_a_second_stays_bounded_and_keeps_its_peaks():
    most, batch, total = 1 << 12, 10_000, 2_000_000
    series = Series("step", "loss", by="loss", most=most)
    loss = np.ones(total)
    loss[[777, 1_234_567, 1_999_000]] = [50.0, 99.0, -3.0]
    for first in range(0, total, batch):
        series.add(np.arange(first, first + batch), loss[first : first + batch])
        assert len(series) <= most
    kept = dict(zip(series.column("step").tolist(), series.column("loss").tolist(), strict=True))
    assert (kept[777], kept[1_234_567], kept[1_999_000]) == (50.0, 99.0, -3.0)
    assert series.total == total
    gaps = np.diff(series.column("step"))
    assert gaps.min() > 0
    assert gaps.max() < 2 * series.group  # the same resolution everywhere
    assert (gaps[-most // 4 + 1 :] == 1).all()  # but for the newest, which are whole
    assert series.last("step") == total - 1


@given(
    st.lists(arrays(np.float64, st.integers(0, 40), elements=values), max_size=30),
    st.integers(4, 50),
)
def test_that_whatever_comes_the_order_the_bound_and_the_extremes_hold(batches, most):
    series = Series("step", "value", by="value", most=most)
    step = 0
    for batch in batches:
        series.add(np.arange(step, step + batch.size), batch)
        step += batch.size
    every = np.concatenate([np.empty(0), *batches])
    steps, kept = series.column("step"), series.column("value")
    assert len(series) <= most
    assert series.total == step
    assert (np.diff(steps) > 0).all()
    np.testing.assert_array_equal(kept, every[steps.astype(int)])
    shown = every[: int(steps[-1]) + 1] if len(steps) else every[:0]
    if np.isfinite(shown).any():
        assert np.nanmin(kept) == np.nanmin(shown)
        assert np.nanmax(kept) == np.nanmax(shown)


def test_that_a_bound_too_small_to_halve_is_refused():
    with pytest.raises(ValueError, match="at least 4"):
        Series("x", by="x", most=3)


def test_that_a_column_along_which_points_come_never_falls():
    series = Series("time", "value", by="value", along="time")
    series.add([1.0, 3.0, 2.0], [10, 11, 12])
    series.add(2.5, 13)
    assert series.column("time").tolist() == [1, 3, 3, 3]
    assert series.column("value").tolist() == [10, 11, 12, 13]


def test_that_what_is_foreseen_stands_behind_the_rest_until_its_turn_has_come():
    series = Series("time", "value", by="value", along="time")
    before = series.total
    series.foresee([1, 5, 9], [10, 50, 90])
    assert series.total != before
    assert (len(series), series.last("value")) == (3, 90)
    series.add([1, 2, 5], [11, 21, 51])
    assert series.column("time").tolist() == [1, 2, 5, 9]
    assert series.column("value").tolist() == [11, 21, 51, 90]
    series.add([8, 12], [81, 121])
    assert series.column("value").tolist() == [11, 21, 51, 81, 121]
    assert len(series) == 5


def test_that_of_very_much_that_is_foreseen_the_extremes_are_shown():
    series = Series("time", "value", by="value", along="time")
    values = np.ones(1_000_000)
    values[[10, 999_990]] = [9.0, -9.0]
    series.foresee(np.arange(values.size), values)
    assert len(series) < 10_000
    assert (series.column("value").max(), series.column("value").min()) == (9.0, -9.0)
    assert (np.diff(series.column("time")) > 0).all()


def test_that_only_along_a_column_something_can_be_foreseen():
    with pytest.raises(ValueError, match="along"):
        Series("x", by="x").foresee([1.0])


@given(
    st.lists(arrays(np.float64, st.integers(0, 40), elements=st.floats(0, 1e6)), max_size=20),
    arrays(np.float64, st.integers(0, 20), elements=st.floats(0, 1e6)),
    st.integers(4, 50),
)
def test_that_however_times_fall_and_whatever_is_foreseen_the_column_stays_sorted(
    batches, ahead, most
):
    series = Series("time", "value", by="value", along="time", most=most)
    series.foresee(np.sort(ahead), 1.0)
    for times in batches:
        series.add(times, np.arange(times.size))
        assert (np.diff(series.column("time")) >= 0).all()
        assert len(series) <= most + ahead.size
