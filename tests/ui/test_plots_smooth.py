from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.reading.pyramid import Sums
from gpu_studio.ui.widgets.plots.part import Part
from gpu_studio.ui.widgets.plots.smooth import column_means, smooth

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=80).map(np.array)
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


@given(VALUES, st.integers(1, 20))
def test_that_the_means_of_columns_weigh_each_point_once(values, columns):
    x = np.arange(len(values), dtype=float)
    edges = np.linspace(0.0, float(len(values)), columns + 1)
    mean_x, means = column_means(Sums(x, values, np.ones(len(x))), edges)
    assert len(means) <= max(columns, 1) or len(means) == len(values)
    assert np.all(np.diff(mean_x) > 0)
    if len(values) > columns:
        counts = np.bincount(np.searchsorted(edges, x, side="right"), minlength=columns + 2)
        assert np.sum(means * counts[counts > 0]) == pytest.approx(values.sum(), abs=1e-6)


def test_that_values_that_are_no_numbers_do_not_count():
    x, y = np.arange(6.0), np.array([1.0, np.nan, 3.0, 5.0, np.inf, 7.0])
    edges = np.array([0.0, 3.0, 6.0])
    _, means = column_means(Part(x, y, None, 0, 6).sums(edges), edges)
    assert means.tolist() == [2.0, 6.0]
