"""The part of the time axis that is shown, and the crosshair."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.ui.kit.plots.time_view import (
    SHORTEST,
    Extent,
    TimeView,
    TimeWindow,
    followed,
    grown,
    panned,
    whole,
    zoomed,
    zoomed_about,
)

DURATIONS = st.floats(0, 1e6)
MOMENTS = st.floats(-1e6, 2e6)
BEGINS = st.just(0.0) | st.floats(-1e6, 0)
EXTENTS = st.builds(Extent, DURATIONS, st.booleans(), begin=BEGINS)
WINDOWS = st.builds(zoomed, MOMENTS, MOMENTS, EXTENTS)


@given(DURATIONS)
def test_that_a_live_axis_has_room_but_not_much(duration):
    end = Extent(duration, live=True).end
    assert duration < end <= max(1.35 * duration, 10.0)


@given(DURATIONS, st.floats(0, 0.02))
def test_that_a_live_axis_stands_still_most_of_the_time(duration, part):
    first, second = Extent(duration).end, Extent(duration * (1 + part)).end
    assert first <= second
    assert first == second or second - first >= first / 20


@given(MOMENTS, MOMENTS, EXTENTS)
def test_that_a_zoom_stays_on_the_axis_and_is_no_narrower_than_a_second(start, end, extent):
    window = zoomed(start, end, extent)
    assert window.start >= extent.begin
    assert window.end <= extent.end + 1e-6
    assert window.span >= SHORTEST - 1e-6


@given(st.floats(0, 1e5), st.floats(2, 1e5), DURATIONS)
def test_that_a_zoom_shows_what_was_brushed_in_either_direction(start, span, duration):
    extent = Extent(max(duration, start + span), live=False)
    assert zoomed(start, start + span, extent) == zoomed(start + span, start, extent)
    window = zoomed(start, start + span, extent)
    assert window.start == pytest.approx(start, abs=1e-6 * extent.end)
    assert window.end == pytest.approx(start + span, abs=1e-6 * extent.end)


def test_that_a_zoom_follows_if_the_newest_is_in_it():
    live = Extent(100.0, live=True)
    assert zoomed(80.0, 104.0, live).follow
    assert not zoomed(20.0, 60.0, live).follow
    assert not zoomed(80.0, 104.0, Extent(100.0, live=False)).follow


def test_that_the_whole_axis_grows_with_the_run_and_a_zoom_into_the_past_does_not():
    assert grown(whole(Extent(10.0)), Extent(100.0)) == whole(Extent(100.0))
    past = zoomed(2.0, 5.0, Extent(10.0))
    assert grown(past, Extent(1000.0)) == past


@given(st.floats(2, 50), st.floats(60, 1e5))
def test_that_a_window_that_follows_keeps_its_width_and_the_newest_in_sight(span, duration):
    window = TimeWindow(60.0 - span, 60.0, whole=False, follow=True)
    moved = grown(window, Extent(duration))
    assert moved.span == pytest.approx(span)
    assert moved.start <= duration <= moved.end


def test_that_a_window_that_follows_moves_in_steps():
    window = grown(TimeWindow(10.0, 20.0, whole=False, follow=True), Extent(20.1))
    assert grown(window, Extent(20.5)) is window


@given(WINDOWS, EXTENTS, st.floats(0.1, 10))
def test_that_a_zoom_about_a_moment_keeps_it_where_it_was(window, extent, factor):
    centre = window.start + 0.3 * window.span
    after = zoomed_about(window, centre, factor, extent)
    untouched = (
        after.start > extent.begin and after.end < extent.end and after.span > SHORTEST * 1.01
    )
    if untouched:
        assert (centre - after.start) / after.span == pytest.approx(0.3, abs=1e-3)


@given(EXTENTS, st.floats(0, 0.9), st.floats(0.05, 0.1), st.floats(-1e6, 1e6))
def test_that_panning_keeps_the_width_and_stays_on_the_axis(extent, part, width, seconds):
    length = extent.end - extent.begin
    window = zoomed(extent.begin + part * length, extent.begin + (part + width) * length, extent)
    after = panned(window, seconds, extent)
    assert after.span == pytest.approx(window.span, rel=1e-6)
    assert after.start >= extent.begin - 1e-6
    assert after.end <= extent.end + 1e-9 * length


@given(EXTENTS, DURATIONS)
def test_that_the_whole_axis_reaches_from_what_was_before_the_run_to_its_end(extent, duration):
    longer = replace(extent, duration=max(duration, extent.duration))
    assert grown(whole(extent), longer) == whole(longer)
    assert (whole(longer).start, whole(longer).end) == (extent.begin, longer.end)


@given(WINDOWS, EXTENTS)
def test_that_a_window_never_shows_more_before_the_run_than_there_is(window, extent):
    assert grown(window, extent).start >= min(extent.begin, 0.0)


def test_that_following_goes_back_to_the_newest_and_can_be_left():
    extent = Extent(100.0)
    past = zoomed(10.0, 30.0, extent)
    there = followed(past, True, extent)
    assert there.start < 100.0 < there.end
    assert there.span == past.span
    assert not followed(whole(extent), False, extent).follow
    assert grown(followed(whole(extent), False, extent), Extent(500.0)).end == whole(extent).end


@pytest.fixture
def time(qapp):
    view = TimeView()
    view.set_extent(Extent(100.0, live=True))
    return view


def test_that_the_plots_are_told_of_a_new_window_and_only_of_a_new_one(qtbot, time):
    with qtbot.waitSignal(time.window_changed):
        time.zoom(10.0, 20.0)
    with qtbot.assertNotEmitted(time.window_changed):
        time.zoom(20.0, 10.0)
        time.set_extent(Extent(100.5))


def test_that_a_zoom_into_the_past_ends_following_and_showing_all_begins_it_again(qtbot, time):
    with qtbot.waitSignal(time.follow_changed) as told:
        time.zoom(10.0, 20.0)
    assert told.args == [False]
    with qtbot.waitSignal(time.follow_changed) as told:
        time.show_all()
    assert told.args == [True]
    assert time.window.whole


def test_that_the_crosshair_stays_inside_the_run(time):
    time.move_cursor(150.0)
    assert time.cursor == 100.0
    time.move_cursor(-5.0)
    assert time.cursor == 0.0


def test_that_the_crosshair_tells_only_of_movement(qtbot, time):
    with qtbot.waitSignal(time.cursor_changed):
        time.move_cursor(5.0)
    with qtbot.assertNotEmitted(time.cursor_changed):
        time.move_cursor(5.0)


def test_that_the_crosshair_is_nudged_from_the_newest_within_the_window(time):
    time.zoom(10.0, 20.0)
    time.nudge_cursor(1)
    assert time.cursor == 20.0
    time.nudge_cursor(-10)
    assert time.cursor == pytest.approx(19.0)
    time.nudge_cursor(-1000)
    assert time.cursor == 10.0


def test_that_panning_and_zooming_by_hand_go_through_the_rules(time):
    time.zoom(40.0, 60.0)
    time.pan(10.0)
    assert (time.window.start, time.window.end) == (50.0, 70.0)
    time.zoom_about(60.0, 0.5)
    assert (time.window.start, time.window.end) == (55.0, 65.0)
    time.pan(-1e9)
    assert time.window.start == 0.0


def test_that_a_new_run_begins_with_all_of_it_and_no_crosshair(time):
    time.zoom(10.0, 20.0)
    time.move_cursor(15.0)
    time.restart()
    assert time.window.whole
    assert time.cursor is None
    assert time.extent == Extent()
