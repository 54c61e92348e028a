from __future__ import annotations

import pytest

from gpu_studio.ui.widgets.plots.time_view import TimeView
from gpu_studio.ui.widgets.plots.time_window import Extent


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
