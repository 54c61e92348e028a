from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.reading.series import Series
from gpu_studio.ui.widgets.plots.smooth import Average, averages, smooth

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=300).map(np.array)
WEIGHTS = st.floats(0, 0.99)


@given(VALUES, WEIGHTS)
def test_that_a_smoothed_curve_stays_between_its_lowest_and_highest_value(values, weight):
    smoothed = smooth(values, weight)
    assert len(smoothed) == len(values)
    assert smoothed[0] == pytest.approx(values[0])
    assert np.all(smoothed >= values.min() - 1e-6)
    assert np.all(smoothed <= values.max() + 1e-6)


@given(st.floats(-1e3, 1e3), WEIGHTS)
def test_that_a_constant_stays_what_it_is_from_its_first_point_on(value, weight):
    assert smooth(np.full(30, value), weight) == pytest.approx(np.full(30, value))


def test_that_a_value_is_the_weighted_mean_of_all_before_it():
    smoothed = smooth(np.array([1.0, 2.0, 4.0]), 0.5)
    assert smoothed == pytest.approx([1.0, (1 * 0.5 + 2) / 1.5, (1 * 0.25 + 2 * 0.5 + 4) / 1.75])


def test_that_a_weight_of_nothing_smooths_nothing():
    values = np.array([3.0, 1.0, 2.0])
    assert smooth(values, 0.0) is values


def tensorboard(values, weight):
    """As TensorBoard's own front end goes through a curve, point by point (vz_line_chart2, resmoothDataset)."""
    last, count, smoothed = 0.0, 0, []
    for value in values:
        if not np.isfinite(value):
            smoothed.append(np.nan)
            continue
        last = last * weight + (1 - weight) * value
        count += 1
        smoothed.append(last / (1 - weight**count) if weight < 1 else last)
    return smoothed


@given(st.lists(st.floats(-1e3, 1e3) | st.just(float("nan")), max_size=300), st.floats(0.01, 0.99))
def test_that_it_is_tensorboard_s_average(values, weight):
    np.testing.assert_allclose(smooth(np.array(values), weight), tensorboard(values, weight), rtol=1e-7, atol=1e-7)


@given(
    st.lists(st.lists(st.floats(-1e3, 1e3) | st.just(float("nan")), max_size=90), max_size=12),
    st.floats(0.01, 0.99),
    st.integers(0, 40),
)
def test_that_a_curve_that_grows_is_averaged_as_one_that_was_there_at_once(batches, weight, unsettled):
    average, values = Average(), np.empty(0)
    for batch in batches:
        values = np.concatenate((values, batch))
        settled = max(len(values) - unsettled, 0)
        found = average.of(values, weight, thinned=(0, 1.0), settled=settled, version="the same")
        np.testing.assert_allclose(found, smooth(values, weight), rtol=1e-7, atol=1e-7)
        values = np.concatenate((values[:settled], values[settled:] + 1.0))  # what had not settled becomes another


def test_that_points_that_stand_for_several_steps_count_for_as_many():
    steps = np.repeat([4.0, 1.0, 2.0], 5)
    thinned = Average().of(np.array([4.0, 1.0, 2.0]), 0.9, thinned=(3, 5.0), settled=3, version=0)
    np.testing.assert_allclose(thinned, smooth(steps, 0.9)[4::5])


def test_that_a_long_run_that_was_thinned_is_smoothed_nearly_as_if_it_were_whole():
    values = 2.0 + np.sin(np.arange(40_000) / 3_000) + np.random.default_rng(0).normal(0, 0.1, 40_000)
    series = Series("time", "loss", by="loss", along="time", most=4_096)
    series.add(np.arange(40_000.0), values)
    times, kept = series.column("time"), series.column("loss")
    assert len(kept) < len(values) // 8
    found = Average().of(kept, 0.999, thinned=series.thinned, settled=len(kept), version=0)
    exact = smooth(values, 0.999)[times.astype(int)]
    assert np.abs(found - exact)[20:].max() < 0.05, "only the first points stand for steps not yet averaged"


def test_that_what_is_near_goes_on_from_where_the_curve_was():
    values = np.random.default_rng(0).normal(size=500)
    average = Average()
    whole = average.of(values, 0.95, thinned=(0, 1.0), settled=500, version=0)
    np.testing.assert_allclose(average.going_on(values[200:300], 0.95, 200), whole[200:300])
    assert averages(np.empty(0), 0.5).shape == (2, 0)
