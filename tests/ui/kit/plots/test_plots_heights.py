"""The heights that a plot has room for: those of what is seen of its curves, points or not."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView
from gpu_studio.ui.kit.theme import ThemeManager


@pytest.fixture
def plot(qtbot) -> TimePlot:
    time = TimeView()
    time.set_extent(Extent(100.0, live=False))
    plot = TimePlot("Loss", ThemeManager("dark"), time)
    time.setParent(plot)
    plot.add_curve("train", Style(lambda tokens: tokens.accent))
    qtbot.addWidget(plot)
    plot.resize(600, 240)
    with qtbot.waitExposed(plot):
        plot.show()
    return plot


def heights(plot: TimePlot, start: float, end: float) -> tuple[float, float]:
    """The lowest and the highest height there is room for in this window."""
    plot.findChild(TimeView).zoom(start, end)
    plot.draw_soon()
    return plot.canvas.backdrop.low, plot.canvas.backdrop.high


@pytest.mark.parametrize(("start", "end"), [(45.0, 55.0), (41.0, 49.0), (30.0, 50.0), (50.0, 70.0)])
def test_that_a_line_that_runs_out_of_the_window_is_seen_to_its_edge(plot, start, end) -> None:
    plot.feed("train", np.array([0.0, 50.0, 100.0]), np.array([0.0, 5.0, 10.0]), 0.0)
    low, high = heights(plot, start, end)
    assert low <= start / 10
    assert high >= end / 10
    assert high - low < 4


def test_that_where_a_line_is_broken_nothing_is_made_room_for(plot) -> None:
    plot.feed(
        "train",
        np.array([0.0, 10.0, 90.0, 100.0]),
        np.array([1.0, 1.0, 9.0, 9.0]),
        0.0,
        longest_gap=20.0,
    )
    _, high = heights(plot, 5.0, 40.0)
    assert high < 3


def test_that_the_greatest_numbers_there_are_have_a_place(plot) -> None:
    """Their span is no number: the plot raised at each redraw."""
    most = np.finfo(np.float64).max
    plot.feed("train", np.array([0.0, 50.0, 100.0]), np.array([-most, 0.0, most]), 0.0)
    low, high = heights(plot, 0.0, 100.0)
    assert -most < low < -1e299
    assert 1e299 < high < most
