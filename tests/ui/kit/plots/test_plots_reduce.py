"""A series reduced to pixel columns keeps its extremes, remembered or not.

A smoothed one is the same at any zoom.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpu_studio.runs.reading.series import Series
from gpu_studio.ui.kit.plots.reduce import (
    Average,
    CurvePart,
    Remembered,
    averages,
    column_starts,
    decimate,
    extremes,
    smooth,
    visible,
)

VALUES = st.floats(-1e6, 1e6, width=32) | st.just(float("nan"))
COLUMNS = st.integers(1, 60)


@st.composite
def curves(draw):
    """A curve of sorted times and values some of which are missing, and a view of it."""
    times = draw(st.lists(st.floats(0, 100, width=32), min_size=1, max_size=400))
    values = draw(st.lists(VALUES, min_size=len(times), max_size=len(times)))
    start = draw(st.floats(0, 99, width=32))
    return (
        np.sort(np.array(times, float)),
        np.array(values, float),
        start,
        start + draw(st.floats(0.5, 100, width=32)),
    )


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
    _, counts = np.unique(
        np.digitize(kept[1:-1], np.linspace(start, end, columns + 1)), return_counts=True
    )
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


GROWING = st.floats(-3, 3, width=16) | st.sampled_from([float("nan"), float("inf"), 0.0])
BATCHES = st.lists(arrays(np.float64, st.integers(0, 120), elements=GROWING), max_size=15)


def part_of(series):
    return CurvePart(series.column("time"), series.column("value"), series.pyramid, 0, len(series))


@given(
    BATCHES,
    st.integers(32, 600),
    st.lists(st.floats(1, 900), min_size=2, max_size=2),
    st.integers(1, 40),
)
@example([np.full(5, np.nan), np.array([-0.5, 0.0, -1.0]), np.empty(0)], 32, [1.0, 7.0], 2)
def test_that_what_is_remembered_of_a_growing_curve_is_what_a_new_look_finds(
    batches, most, window, columns
):
    series = Series("time", "value", by="value", along="time", most=most)
    lowest = Remembered()
    edges = np.linspace(min(window), max(window) + 1, columns + 1)
    for number, batch in enumerate(batches):
        series.add(np.arange(batch.size) + series.total, batch)
        if number % 4 == 3:
            edges = edges + 0.5
        part = part_of(series)
        np.testing.assert_array_equal(lowest.curve(part, edges), extremes(part, edges))


def test_that_points_that_were_only_foreseen_are_not_remembered():
    series = Series("time", "value", by="value", along="time")
    series.add(np.arange(100.0), 1.0)
    series.foresee(np.arange(100.0, 1000.0, 50.0), 7.0)
    lowest, edges = Remembered(), np.linspace(0.0, 1000.0, 11)
    assert lowest.curve(part_of(series), edges)[1].max() == 7.0
    series.add(np.arange(100.0, 1000.0), 2.0)
    x, y = lowest.curve(part_of(series), edges)
    assert y.max() == 2.0
    assert x[-1] == 999.0


def due(series, columns, end):
    """The edges of a live axis of steps: all that is to come is due at the newest moment."""
    return np.minimum(np.linspace(0.0, end, columns + 1), max(series.total - 1.0, 0.0))


@given(BATCHES, st.integers(32, 600), st.floats(1, 900), COLUMNS)
def test_that_what_is_remembered_while_later_edges_move_is_what_a_new_look_finds(
    batches, most, end, columns
):
    series = Series("time", "value", by="value", along="time", most=most)
    lowest = Remembered()
    for batch in batches:
        series.add(np.arange(batch.size) + series.total, batch)
        part, edges = part_of(series), due(series, columns, end)
        np.testing.assert_array_equal(lowest.curve(part, edges), extremes(part, edges))


def test_that_full_columns_are_searched_once_though_later_edges_move(monkeypatch):
    looked, look = [], CurvePart.candidates
    monkeypatch.setattr(
        CurvePart, "candidates", lambda part, edges: looked.append(part.low) or look(part, edges)
    )
    series = Series("time", "value", by="value", along="time")
    lowest = Remembered()
    for _ in range(3):
        series.add(np.arange(100.0) + series.total, 1.0)
        lowest.curve(part_of(series), due(series, 10, 1000.0))
    assert looked == [0, 0, 100]


NOISY = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=300).map(np.array)
WEIGHTS = st.floats(0, 0.99)


@given(NOISY, WEIGHTS)
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
    """As TensorBoard's front end smooths a curve, point by point.

    That is `resmoothDataset` in its `vz_line_chart2`.
    """
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
    np.testing.assert_allclose(
        smooth(np.array(values), weight), tensorboard(values, weight), rtol=1e-7, atol=1e-7
    )


@given(
    st.lists(st.lists(st.floats(-1e3, 1e3) | st.just(float("nan")), max_size=90), max_size=12),
    st.floats(0.01, 0.99),
    st.integers(0, 40),
)
def test_that_a_curve_that_grows_is_averaged_as_one_that_was_there_at_once(
    batches, weight, unsettled
):
    average, values = Average(), np.empty(0)
    for batch in batches:
        values = np.concatenate((values, batch))
        settled = max(len(values) - unsettled, 0)
        found = average.of(values, weight, thinned=(0, 1.0), settled=settled, version="the same")
        np.testing.assert_allclose(found, smooth(values, weight), rtol=1e-7, atol=1e-7)
        values = np.concatenate(
            (values[:settled], values[settled:] + 1.0)
        )  # what had not settled becomes another


def test_that_points_that_stand_for_several_steps_count_for_as_many():
    steps = np.repeat([4.0, 1.0, 2.0], 5)
    thinned = Average().of(np.array([4.0, 1.0, 2.0]), 0.9, thinned=(3, 5.0), settled=3, version=0)
    np.testing.assert_allclose(thinned, smooth(steps, 0.9)[4::5])


def test_that_a_long_run_that_was_thinned_is_smoothed_nearly_as_if_it_were_whole():
    values = (
        2.0 + np.sin(np.arange(40_000) / 3_000) + np.random.default_rng(0).normal(0, 0.1, 40_000)
    )
    series = Series("time", "loss", by="loss", along="time", most=4_096)
    series.add(np.arange(40_000.0), values)
    times, kept = series.column("time"), series.column("loss")
    assert len(kept) < len(values) // 8
    found = Average().of(kept, 0.999, thinned=series.thinned, settled=len(kept), version=0)
    exact = smooth(values, 0.999)[times.astype(int)]
    assert np.abs(found - exact)[20:].max() < 0.05, (
        "only the first points stand for steps not yet averaged"
    )


def test_that_what_is_near_goes_on_from_where_the_curve_was():
    values = np.random.default_rng(0).normal(size=500)
    average = Average()
    whole = average.of(values, 0.95, thinned=(0, 1.0), settled=500, version=0)
    np.testing.assert_allclose(average.going_on(values[200:300], 0.95, 200), whole[200:300])
    assert averages(np.empty(0), 0.5).shape == (2, 0)
