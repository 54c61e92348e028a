"""What is added up of what each worker has done."""

from __future__ import annotations

import pytest

from gpu_studio.trainer.served.shares import RECENT_SECONDS, Shares, StepDone


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_that_steps_samples_lag_and_time_are_added_up_for_each_worker():
    clock = Clock()
    shares = Shares(2, clock)
    shares.begin()
    for lag in (0, 4, 2):
        clock.now += 1.0
        shares.add(StepDone(worker=0, samples=50, lag=lag, seconds=0.5))
    shares.add(StepDone(worker=1, samples=5, lag=1, seconds=2.0))
    first, second = shares.of_workers()
    assert (first.steps, first.samples, first.lag, first.lag_most) == (3, 150, 2.0, 4)
    assert (first.pace, first.seconds) == (50.0, 0.5)
    assert (second.index, second.steps, second.seconds) == (1, 1, 2.0)


def test_that_the_pace_is_that_of_late():
    clock = Clock()
    shares = Shares(1, clock)
    shares.begin()
    shares.add(StepDone(worker=0, samples=1000, lag=0, seconds=0.1))
    clock.now = 3 * RECENT_SECONDS
    shares.add(StepDone(worker=0, samples=20, lag=0, seconds=0.1))
    (told,) = shares.of_workers()
    assert told.pace == pytest.approx(20 / RECENT_SECONDS)
    assert told.samples == 1020


def test_that_a_worker_that_has_done_nothing_is_told_too():
    (told,) = Shares(1).of_workers()
    assert (told.steps, told.pace, told.lag) == (0, 0.0, 0.0)
