from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpu_studio.runs.series import Series

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
    assert total - series.last("step") <= 2 * series.group


@given(st.lists(arrays(np.float64, st.integers(0, 40), elements=values), max_size=30), st.integers(4, 50))
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
