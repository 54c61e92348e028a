from __future__ import annotations

import pytest

from gpu_studio.contract.events import Steps
from gpu_studio.runs.reading.progress import Pace, RecentCalls


def call(time, *, steps=10, seconds=0.5, input_seconds=0.1, samples=100, epoch=1):
    """A call, and when it ended."""
    return Steps(epoch=epoch, first_step=0, losses=[1.0] * steps, samples=samples, seconds=seconds,
                 input_seconds=input_seconds), time  # fmt: skip


def test_that_nothing_is_known_before_the_first_call():
    pace = Pace()
    assert (pace.samples_per_second, pace.input_share, pace.seconds_for(10, 1)) == (
        None,
        None,
        None,
    )


def test_that_throughput_is_that_of_the_last_two_seconds():
    pace = Pace()
    pace.add(*call(100.0, samples=9999))
    for time in (102.5, 103.0, 103.5, 104.0):
        pace.add(*call(time))
    assert pace.samples_per_second == pytest.approx(200)
    assert pace.input_share == pytest.approx(0.2)


def test_that_one_long_call_is_enough_to_know():
    pace = Pace()
    pace.add(*call(100.0))
    pace.add(*call(130.0, seconds=30, samples=3000))
    assert pace.samples_per_second == pytest.approx(100)


def test_that_the_time_left_does_not_count_the_first_call_which_compiles():
    pace = Pace()
    pace.add(*call(160.0, seconds=60))
    assert pace.seconds_for(10, 0) is None
    pace.add(*call(160.5))
    assert pace.seconds_for(50, 0) == pytest.approx(2.5)


def test_that_the_time_left_follows_the_last_half_minute():
    pace = Pace()
    pace.add(*call(100.0))
    for number in range(1, 10):
        pace.add(*call(100.0 + number, seconds=1.0))
    for number in range(100):
        pace.add(*call(200.0 + number, seconds=0.2))
    assert pace.seconds_for(10, 0) == pytest.approx(0.2)


def test_that_ends_of_epochs_count_without_what_the_first_one_compiled():
    pace = Pace()
    pace.add(*call(100.0, epoch=1))
    pace.add(*call(105.5, epoch=2))  # 5 s of compiling and validation
    assert pace.seconds_for(0, 3) == pytest.approx(15)
    for epoch in range(3, 7):
        pace.add(*call(105.5 + 2 * (epoch - 2), epoch=epoch))  # 1.5 s of validation
    assert pace.seconds_for(0, 2) == pytest.approx(3.0)


def test_that_a_pause_counts_as_no_time():
    pace = Pace()
    pace.add(*call(100.0))
    pace.add(*call(100.5))
    pace.state("paused")
    assert pace.samples_per_second is None
    pace.state("running")
    pace.add(*call(1000.0, epoch=2))
    assert pace.seconds_for(50, 4) == pytest.approx(2.5)
    pace.add(*call(1001.0, epoch=3))
    assert pace.seconds_for(0, 2) == pytest.approx(1.0)


def test_that_calls_without_measurable_time_have_no_throughput():
    pace = Pace()
    pace.add(*call(100.0, seconds=0.0))
    assert pace.samples_per_second is None


def test_that_of_many_calls_only_the_newest_are_summed_up_and_only_when_somebody_asks(monkeypatch):
    summed, real = [], RecentCalls.add
    monkeypatch.setattr(
        RecentCalls, "add", lambda self, call: (summed.append(call.time), real(self, call))
    )
    pace = Pace()
    for number in range(10_001):
        pace.add(*call(float(number), seconds=1.0 if number < 9_970 else 0.5, epoch=number))
    assert len(summed) < 200, "now and then, so that they take no room"
    summed.clear()
    assert pace.seconds_for(10, 0) == pytest.approx(0.5)
    assert pace.samples_per_second == pytest.approx(200)
    assert min(summed) > 9_970
    assert len(summed) <= 32
