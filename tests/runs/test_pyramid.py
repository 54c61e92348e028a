"""Blocks over a curve find the same points as a look at every one of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpu_studio.runs.reading.pyramid import Pyramid
from gpu_studio.runs.reading.series import Series

VALUES = st.floats(-3, 3, width=16) | st.sampled_from([float("nan"), float("inf"), 0.0])


def over(values, settled=None):
    """A pyramid over these values, one a second."""
    pyramid = Pyramid()
    pyramid.settle(len(values) if settled is None else settled, len(values))
    return pyramid, np.arange(len(values), dtype=float)


@st.composite
def stretches(draw):
    """Values, most of them alike, with a stretch of them and cuts in it.

    A part may not have settled yet.
    """
    values = np.zeros(draw(st.integers(1, 3000)))
    noise = draw(arrays(np.float64, st.integers(0, 400), elements=VALUES))
    place = draw(st.integers(0, len(values) - 1))
    values[place : place + len(noise)] = noise[: len(values) - place]
    first = draw(st.integers(0, len(values) - 1))
    last = draw(st.integers(first + 1, len(values)))
    cuts = np.sort(draw(arrays(np.intp, st.integers(0, 12), elements=st.integers(first, last))))
    return values, first, last, cuts, draw(st.integers(0, len(values)))


def columns(first, last, cuts):
    """What lies between the cuts."""
    edges = [first, *cuts.tolist(), last]
    return [range(begin, end) for begin, end in pairwise(edges) if end > begin]


@given(stretches())
def test_that_the_first_extremes_between_the_cuts_and_both_ends_are_found(stretch):
    values, first, last, cuts, settled = stretch
    pyramid, _ = over(values, settled)
    places = pyramid.extremes(values, first, last, cuts)
    assert (np.diff(places) >= 0).all()
    assert {first, last - 1} <= set(places.tolist()) <= set(range(first, last))
    for column in columns(first, last, cuts):
        finite = [place for place in column if np.isfinite(values[place])]
        if finite:
            found = values[finite]
            assert {finite[int(found.argmin())], finite[int(found.argmax())]} <= set(
                places.tolist()
            )


@given(stretches())
def test_that_what_is_no_number_is_found(stretch):
    values, first, last, _, settled = stretch
    pyramid, _ = over(values, settled)
    expected = first + np.flatnonzero(~np.isfinite(values[first:last]))
    np.testing.assert_array_equal(pyramid.missing(values, first, last), expected)


@pytest.mark.slow
@given(
    st.lists(arrays(np.float64, st.integers(0, 300), elements=VALUES), max_size=12),
    st.integers(64, 500),
)
def test_that_the_blocks_of_a_series_stay_right_however_it_grows_and_is_thinned(batches, most):
    series = Series("time", "value", by="value", along="time", most=most)
    for batch in batches:
        series.add(np.arange(batch.size) + series.total, batch)
        x, y = series.column("time"), series.column("value")
        if not len(x):
            continue
        cuts = np.arange(0, len(x), 40)
        places = set(series.pyramid.extremes(y, 0, len(x), cuts).tolist())
        for column in columns(0, len(x), cuts):
            finite = [place for place in column if np.isfinite(y[place])]
            if finite:
                assert {finite[int(y[finite].argmin())], finite[int(y[finite].argmax())]} <= places


def test_that_blocks_take_little_and_a_picture_of_half_a_million_points_few_of_them():
    values = np.random.default_rng(0).standard_normal(1 << 19)
    pyramid, _ = over(values)
    places = pyramid.extremes(values, 0, len(values), np.arange(0, len(values), 1024))
    assert len(places) < 30 * 512, "some for each column, and not one for each point"
    assert pyramid.nbytes < 0.15 * 3 * values.nbytes
