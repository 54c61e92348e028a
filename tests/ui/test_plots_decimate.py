from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.ui.widgets.plots.decimate import column_starts, decimate, visible

VALUES = st.floats(-1e6, 1e6, width=32) | st.just(float("nan"))
COLUMNS = st.integers(1, 60)


@st.composite
def curves(draw):
    """A curve of sorted times and values some of which are missing, and a view of it."""
    times = draw(st.lists(st.floats(0, 100, width=32), min_size=1, max_size=400))
    values = draw(st.lists(VALUES, min_size=len(times), max_size=len(times)))
    start = draw(st.floats(0, 99, width=32))
    return np.sort(np.array(times, float)), np.array(values, float), start, start + draw(st.floats(0.5, 100, width=32))


@given(curves(), COLUMNS)
def test_that_each_pixel_column_keeps_its_lowest_and_highest_point(curve, columns):
    x, y, start, end = curve
    kept_x, kept_y = decimate(x, y, start, end, columns)
    finite = np.isfinite(y)
    edges = np.linspace(start, end, columns + 1)
    whole, thin = np.digitize(x[finite], edges), np.digitize(kept_x, edges)
    for column in np.unique(whole):
        assert kept_y[thin == column].min() == y[finite][whole == column].min()
        assert kept_y[thin == column].max() == y[finite][whole == column].max()


@given(curves(), COLUMNS)
def test_that_at_most_two_points_a_column_and_the_two_ends_are_left(curve, columns):
    x, y, start, end = curve
    kept, _ = decimate(*visible(x, y, start, end), start, end, columns)
    assert len(kept) <= 2 * (columns + 2) + 2
    _, counts = np.unique(np.digitize(kept[1:-1], np.linspace(start, end, columns + 1)), return_counts=True)
    assert len(kept) <= 2 * columns or counts.max(initial=0) <= 2


@given(curves(), COLUMNS)
def test_that_what_is_left_are_points_of_the_curve_in_their_order_with_both_ends(curve, columns):
    x, y, start, end = curve
    kept_x, kept_y = decimate(x, y, start, end, columns)
    finite = np.isfinite(y)
    whole = list(zip(x[finite], y[finite], strict=True))
    rest = iter(whole)
    assert all(point in rest for point in zip(kept_x, kept_y, strict=True))
    if whole:
        assert (kept_x[0], kept_y[0], kept_x[-1], kept_y[-1]) == (*whole[0], *whole[-1])


@given(curves())
def test_that_a_view_holds_all_points_inside_it_and_one_on_either_side(curve):
    x, y, start, end = curve
    seen, values = visible(x, y, start, end)
    inside = np.flatnonzero((x >= start) & (x <= end))
    assert len(seen) == len(values)
    assert set(x[inside]) <= set(seen)
    assert np.sum(seen < start) <= 1
    assert np.sum(seen > end) <= 1


def test_that_a_peak_of_one_point_among_a_million_is_kept():
    x, y = np.arange(1e6), np.zeros(1_000_000)
    y[654_321] = 7.0
    kept_x, kept_y = decimate(x, y, 0.0, 1e6, 800)
    assert kept_x[kept_y == 7.0].tolist() == [654_321.0]
    assert len(kept_x) <= 1602


@pytest.mark.parametrize("length", [0, 1, 2])
def test_that_a_curve_of_hardly_a_point_stays_as_it_is(length):
    x, y = np.arange(float(length)), np.ones(length)
    kept_x, kept_y = decimate(x, y, 0.0, 10.0, 1)
    assert (kept_x.tolist(), kept_y.tolist()) == (x.tolist(), y.tolist())


def test_that_points_at_one_moment_make_one_column():
    assert column_starts(np.full(5, 3.0), np.linspace(0.0, 10.0, 11)).tolist() == [0]
