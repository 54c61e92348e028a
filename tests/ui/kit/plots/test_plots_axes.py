"""How values become heights, and what the time axis of a plot counts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.reading.series import Series
from gpu_studio.ui.kit.plots.axes import BYTES, LINEAR, LOG, TIME, StepClock, TrainingTime
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView

COUNTS = st.integers(1, 6)


@given(st.floats(1, 1e13), COUNTS)
def test_that_the_heights_of_bytes_reach_from_zero_over_the_highest(high, count):
    bottom, top = BYTES.fit(high / 2, high, count)
    assert bottom == 0.0
    assert high <= top <= max(4 * high, 2.0 * count)
    assert len(BYTES.ticks(bottom, top, count)) <= count + 1


def test_that_zero_is_the_bottom_where_it_is_near_and_only_there():
    assert LINEAR.fit(0.1, 2.0, 4)[0] == 0.0
    assert LINEAR.fit(0.9, 1.0, 4)[0] > 0.5


def test_that_values_without_a_logarithm_have_no_height():
    heights = LOG.heights(np.array([-1.0, 0.0, 10.0]))
    assert math.isnan(heights[0])
    assert math.isnan(heights[1])
    assert heights[2] == 1.0


BEGUN = 1_800_000_000.0
GAPS = st.lists(st.floats(0.001, 50.0), min_size=2, max_size=60)


def ruler_of(gaps, kind="step", first=0.0, per=1.0):
    """A ruler of steps with so many seconds before each."""
    times = BEGUN + np.cumsum(gaps)
    return StepClock().ruler(
        kind, times, first + 1.0 + np.arange(len(gaps)), BEGUN, first, per
    ), times - BEGUN


@given(GAPS, st.floats(0, 1), st.sampled_from([1.0, 7.0]), st.sampled_from([0.0, 400.0]))
def test_that_a_place_and_its_moment_belong_together_and_never_run_back(gaps, share, per, first):
    ruler, seconds = ruler_of(gaps, "epoch", first, per)
    places = ruler.places(np.linspace(0.0, seconds[-1] + 10, 50))
    assert np.all(np.diff(places) >= 0)
    place = float(places[0] + share * (places[-1] - places[0]))
    assert ruler.place(ruler.second(place)) == pytest.approx(place, abs=1e-3)
    assert ruler.places(seconds) == pytest.approx((1 + np.arange(len(gaps))) / per, abs=1e-3)


def test_that_what_trains_nothing_takes_no_room():
    gaps = [1.0] * 10 + [3600.0] + [1.0] * 9
    ruler, _ = ruler_of(gaps)
    assert ruler.places(np.array([10.0, 1800.0, 3610.0])).tolist() == pytest.approx(
        [10.0, 10.5, 11.0], abs=0.01
    )
    assert ruler.place(-5.0) == ruler.place(0.5) == 1.0, "before the first step nothing passes"
    assert ruler.place(1e6) == 20.0


def test_that_a_clock_put_back_makes_no_axis_run_back():
    times = BEGUN + np.array([1.0, 2.0, 3.0, 1.5, 2.5, 4.0])
    ruler = StepClock().ruler("step", times, np.arange(1.0, 7.0), BEGUN, 0.0)
    assert np.all(np.diff(ruler.places(np.linspace(0, 5, 100))) >= 0)
    assert (ruler.place(0.0), ruler.place(5.0)) == (1.0, 6.0)


def test_that_a_series_whose_content_was_replaced_is_looked_at_anew():
    clock, steps = StepClock(), np.arange(1.0, 5.0)
    assert clock.ruler("step", BEGUN + steps, steps, BEGUN, 0.0).place(2.0) == 2.0
    other = BEGUN + np.array([1.0, 9.0, 5.0, 10.0])
    assert np.all(
        np.diff(clock.ruler("step", other, steps, BEGUN, 0.0).places(np.linspace(0, 11, 90))) >= 0
    )
    grown = np.arange(1.0, 9.0)
    assert clock.ruler("step", BEGUN + 2 * grown, grown, BEGUN, 0.0).place(14.0) == 7.0


def test_that_before_the_first_step_everything_is_at_the_beginning():
    ruler = StepClock().ruler("step", np.empty(0), np.empty(0), BEGUN, 40.0)
    assert ruler.places(np.array([0.0, 100.0])).tolist() == [0.0, 0.0]
    assert StepClock().ruler("time", np.empty(0), np.empty(0), BEGUN, 40.0) is TIME


@given(GAPS, GAPS, st.sampled_from([1.0, 7.0]))
def test_that_what_earlier_runs_trained_lies_below_zero(before, gaps, per):
    first = float(len(before))
    ruler, seconds = ruler_of(gaps, "epoch", first, per)
    ends = np.cumsum(before)
    ruler = replace(ruler, earlier=(np.concatenate(([0.0], ends)) - ends[-1], np.arange(first + 1)))
    assert ruler.place(-float(ends[-1])) == -first / per
    assert ruler.places(ends[:-1] - ends[-1]) == pytest.approx(
        (1 + np.arange(first - 1) - first) / per, abs=1e-3
    )
    assert np.all(np.diff(ruler.places(np.linspace(-ends[-1] - 1, seconds[-1] + 1, 60))) >= 0)
    assert ruler.places(seconds) == pytest.approx((1 + np.arange(len(gaps))) / per, abs=1e-3)
    places = np.linspace(-first / per, len(gaps) / per, 40)
    np.testing.assert_allclose(
        ruler.places(ruler.seconds(places[places < 0])), places[places < 0], atol=1e-3
    )


def test_that_ticks_are_named_as_they_are_counted_over_the_whole_training():
    ruler, _ = ruler_of([0.1] * 2000, first=4000.0)
    assert [text for _, text in ruler.ticks(0.0, 2000.0, 2)] == [
        "step 4,000",
        "step 5,000",
        "step 6,000",
    ]
    assert ruler.ticks(0.0, 2000.0, 2)[1][0] == 1000.0
    assert [text for _, text in ruler.ticks(10.0, 13.0, 9)] == [
        f"step 4,0{at}" for at in (10, 11, 12, 13)
    ]
    epochs, _ = ruler_of([0.1] * 2000, "epoch", 4000.0, 200.0)
    assert [text for _, text in epochs.ticks(0.0, 10.0, 5)] == [
        f"epoch {at}" for at in (20, 22, 24, 26, 28, 30)
    ]
    assert epochs.ticks(0.2, 0.6, 4)[0][1] == "epoch 20.2"


@pytest.fixture
def view(qapp):
    """An axis over 20 steps of a second with a pause of 80 seconds after the tenth."""
    view = TimeView()
    view.set_extent(Extent(100.0, live=False))
    return view


RULER, _ = ruler_of([1.0] * 10 + [80.0] + [1.0] * 9)


def test_that_another_ruler_shows_the_same_part_and_keeps_the_crosshair_where_it_was(qtbot, view):
    view.zoom(5.0, 95.0)
    view.move_cursor(92.0)
    with qtbot.waitSignals([view.ruler_changed, view.window_changed]):
        view.set_ruler(RULER)
    assert (view.window.start, view.window.end) == (pytest.approx(5.0), pytest.approx(16.0))
    assert view.cursor == 92.0
    view.set_ruler(TIME)
    assert (view.window.start, view.window.end) == (pytest.approx(5.0), pytest.approx(95.0))


def test_that_all_of_the_run_stays_all_of_it_by_any_ruler(qtbot, view):
    view.set_ruler(RULER)
    assert view.window.whole
    assert view.extent.duration == 20.0
    assert 20.0 <= view.window.end < 21.0
    with qtbot.assertNotEmitted(view.ruler_changed):
        view.set_ruler(RULER)


def test_that_the_keys_move_by_what_the_axis_counts(view):
    view.set_ruler(RULER)
    view.point_at_edge(last=True)
    assert view.cursor == pytest.approx(99.0)
    view.point_at(10.5)
    assert view.cursor == pytest.approx(50.0), "in the middle of the pause"
    view.nudge_cursor(10)
    assert view.ruler.place(view.cursor) == pytest.approx(10.5 + 0.1 * view.window.span)
    view.point_at_edge(last=False)
    assert view.cursor == pytest.approx(1.0)


def test_that_one_cannot_look_nearer_than_a_few_steps(view):
    view.set_ruler(RULER)
    view.zoom(7.0, 7.1)
    assert view.window.span == pytest.approx(4.0)


def test_that_a_curve_that_is_coarse_first_and_filled_in_later_keeps_its_axis_sorted():
    losses, clock = Series("step", "loss", "time", by="loss", along="time", most=512), StepClock()
    whole = np.arange(1.0, 4001.0)
    losses.foresee(whole[::400], np.ones(10), BEGUN + whole[::400])
    for begin in range(0, 4000, 250):
        ruler = clock.ruler("step", losses.column("time"), losses.column("step"), BEGUN, 0.0)
        assert np.all(np.diff(ruler.places(np.linspace(0.0, 4100.0, 200))) >= 0)
        assert ruler.place(3601.0) == pytest.approx(3601.0, abs=1.0)
        part = whole[begin : begin + 250]
        losses.add(part, np.sin(part), BEGUN + part)
    ruler = clock.ruler("step", losses.column("time"), losses.column("step"), BEGUN, 0.0)
    assert ruler.places(np.array([2000.0, 4000.0])) == pytest.approx([2000.0, 4000.0])


HELD = st.lists(st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)), max_size=6)


@given(st.floats(0, 30), HELD, st.lists(st.floats(0, 400), min_size=1))
def test_that_training_time_counts_from_the_first_step_on_without_pauses(first, held, seconds):
    edges = first + np.cumsum([each for pair in held for each in pair])
    ruler = TrainingTime(first=first, begins=edges[::2], ends=edges[1::2])
    at = np.sort(np.array(seconds))
    places = ruler.places(at)
    expected = [
        second
        - first
        - sum(
            max(min(second, end) - begin, 0)
            for begin, end in zip(edges[::2], edges[1::2], strict=True)
        )
        for second in at
    ]
    np.testing.assert_allclose(places, expected, atol=1e-9)
    assert np.all(np.diff(places) >= -1e-9)
    np.testing.assert_allclose(ruler.places(ruler.seconds(places)), places, atol=1e-6)


def test_that_while_a_run_is_paused_its_time_stands_still():
    ruler = TrainingTime(first=5.0, begins=np.array([20.0]), ends=np.array([np.inf]))
    assert ruler.places(np.array([5.0, 20.0, 21.0, 1e6])).tolist() == [0.0, 15.0, 15.0, 15.0]
    assert ruler.second(15.0) == 20.0
    assert ruler.places(np.empty(0)).shape == (0,)
