"""A curve that grows is drawn the same, whether what was drawn before is remembered or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpu_studio.runs.reading.series import Series
from gpu_studio.ui.widgets.plots.part import Part
from gpu_studio.ui.widgets.plots.remembered import Remembered, extremes

VALUES = st.floats(-3, 3, width=16) | st.sampled_from([float("nan"), float("inf"), 0.0])
BATCHES = st.lists(arrays(np.float64, st.integers(0, 120), elements=VALUES), max_size=15)


def part_of(series):
    return Part(series.column("time"), series.column("value"), series.pyramid, 0, len(series))


@given(BATCHES, st.integers(32, 600), st.lists(st.floats(1, 900), min_size=2, max_size=2), st.integers(1, 40))
def test_that_what_is_remembered_of_a_growing_curve_is_what_a_new_look_finds(batches, most, window, columns):
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
