"""When each class is due, and when a failure is tried again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.hardware.sampler.schedule import (
    BEAT,
    CLASSES,
    FAST,
    HOST,
    PCIE,
    SLOW,
    WATCH,
    BackOff,
    Schedule,
)


def test_that_everything_but_the_beat_is_due_at_the_start():
    assert set(Schedule(5.0).due(5.0)) >= set(CLASSES)
    assert BEAT not in Schedule(5.0).due(5.0)
    assert BEAT in Schedule(5.0).due(7.0)


def test_that_a_late_look_is_made_once_and_not_made_up_for():
    schedule = Schedule(0.0, [FAST])
    schedule.due(0.0)

    assert FAST in schedule.due(100.0)
    assert FAST not in schedule.due(100.5)
    assert FAST in schedule.due(101.0)


def test_that_a_pace_does_not_drift():
    schedule = Schedule(0.0, [FAST])
    times = [now / 100 for now in range(1001) if FAST in schedule.due(now / 100)]

    assert times == [float(second) for second in range(11)]


def test_that_cards_take_turns_at_pcie():
    schedule = Schedule(0.0)
    schedule.turns = 8

    assert schedule.period(PCIE) == 0.5
    assert schedule.period(SLOW) == 5.0


def test_that_what_nobody_wants_is_not_due_but_the_watch_goes_on():
    schedule = Schedule(0.0, [])

    assert set(schedule.due(10.0)) == {WATCH, BEAT}
    schedule.want([HOST, "nonsense"], 10.0)
    assert schedule.due(10.0) == [HOST]


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_that_any_rate_is_brought_within_bounds(rate):
    schedule = Schedule(0.0, rate=rate)
    assert 0.1 <= schedule.period(FAST) <= 5.0


@given(st.lists(st.sampled_from(CLASSES)), st.floats(0.2, 10))
def test_that_the_wait_ends_when_something_is_due(classes, rate):
    schedule, now = Schedule(0.0, classes, rate), 0.0
    for _ in range(20):
        now += schedule.wait(now)
        assert schedule.due(now)


def test_that_failures_are_tried_again_less_and_less_often():
    again, waits = BackOff(1.0, 10.0), []
    assert not again.is_due(1e9)
    for _ in range(6):
        again.failed(0.0)
        waits.append(again.due)

    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    again.at_once(3.0)
    assert again.is_due(3.0)
    again.succeeded()
    again.failed(0.0)
    assert again.due == 1.0
