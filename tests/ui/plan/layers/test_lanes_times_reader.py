"""Times of layers.

Measured when asked for, for exactly the plan that is shown, and nothing is left behind.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import fake_times_asker
import psutil
import pytest
from lane_plans import MACHINE, placed_plan
from real_runs import eventually

from gpu_studio.plan import Plan, Training, logical_devices
from gpu_studio.ui.plan.layers.step_line import TimesReader


@pytest.fixture
def starts(tmp_path, monkeypatch) -> Callable[[], list[int]]:
    """The processes that were asked, in order."""
    path = tmp_path / "starts"
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(path))
    return lambda: [int(line) for line in path.read_text().split()] if path.exists() else []


@pytest.fixture
def reading(qtbot, starts) -> Iterator[Callable[..., TimesReader]]:
    made: list[TimesReader] = []

    def read(*flags: str) -> TimesReader:
        made.append(TimesReader([sys.executable, fake_times_asker.__file__, *flags]))
        return made[-1]

    yield read
    for reader in made:
        reader.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "layer-times"]


def follow(reader: TimesReader, plan: Plan | None = None) -> TimesReader:
    plan = plan or placed_plan()
    reader.follow(plan, logical_devices(plan, MACHINE))
    return reader


def measure(qtbot, reader: TimesReader) -> TimesReader:
    reader.measure()
    assert reader.measuring
    assert reader.waiting_for
    qtbot.waitUntil(lambda: not reader.measuring)
    return reader


def test_that_nothing_is_measured_before_it_is_asked_for(reading, starts) -> None:
    assert follow(reading()).known is None
    assert starts() == []


def test_that_every_slice_has_the_times_of_its_physical_device(qtbot, reading) -> None:
    reader = measure(qtbot, follow(reading()))
    assert reader.known is not None
    assert list(reader.known.times) == ["CPU:0", "CPU:1", "CPU:2", "CPU:3"]
    assert reader.known.times["CPU:3"]["dense"].forward_fixed == 0.001
    assert reader.error == ""


def test_that_times_are_those_of_the_plan_shown_and_remembered(qtbot, reading, starts) -> None:
    reader = measure(qtbot, follow(reading()))
    known = reader.known
    other = replace(placed_plan(), training=Training(batch_size=32))
    assert follow(reader, other).known is None
    assert follow(reader, placed_plan({}, 9)).known == known
    assert len(starts()) == 1


def test_that_measuring_can_be_given_up_and_no_process_is_left(qtbot, reading, starts) -> None:
    reader = follow(reading("hang"))
    reader.measure()
    qtbot.waitUntil(lambda: reader.waiting_for == "training steps")
    reader.cancel()
    assert not reader.measuring
    assert (reader.known, reader.error) == (None, "")
    eventually(lambda: not psutil.pid_exists(starts()[0]))


def test_that_another_plan_ends_the_measuring(qtbot, reading, starts) -> None:
    reader = follow(reading("hang"))
    reader.measure()
    qtbot.waitUntil(lambda: bool(starts()))
    follow(reader, replace(placed_plan(), training=Training(batch_size=32)))
    assert not reader.measuring
    eventually(lambda: not psutil.pid_exists(starts()[0]))


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("refuse", "The layers could not be timed: "),
        ("nonsense", "The answer about the layers' times cannot be read: "),
        ("die", "The layers could not be timed: "),
    ],
)
def test_that_a_failure_is_said(qtbot, reading, flag: str, why: str) -> None:
    reader = measure(qtbot, follow(reading(flag)))
    assert reader.known is None
    assert reader.error.startswith(why)
    reader.measure()
    assert reader.error == ""
