"""A run's `hardware.jsonl` as the window follows it."""

from __future__ import annotations

import pytest
from made_recordings import append, cards, fast, host, record
from made_runs import MIB

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.ui.train import card_record
from gpu_studio.ui.train.card_record import EVERY_MS, CardRecord

TWO = cards("2xL4")


@pytest.fixture
def run(runs_dir):
    return RunDirectory.create(runs_dir, "recorded")


@pytest.fixture
def followed(qapp, run, monkeypatch):
    monkeypatch.setattr(card_record, "LAST_LOOK_MS", 100)
    found = CardRecord(run.hardware_file)
    yield found
    found.close()


def test_that_what_was_recorded_is_read_and_the_picture_is_the_newest(qtbot, run, followed):
    record(run, TWO, 1000.0, 60)
    with qtbot.waitSignal(followed.caught_up):
        followed.start()
    assert set(followed.known) == {card.card for card in TWO}
    assert len(followed.figures.series(TWO[1].card, "memory").column("time")) == 60
    assert followed.picture.host.memory_used_mib == 5059
    assert not followed.over


def test_that_what_the_sampler_writes_after_the_end_is_read_too_and_then_no_more(
    qtbot, run, followed
):
    record(run, TWO, 1000.0, 5)
    with qtbot.waitSignal(followed.caught_up):
        followed.start()
    followed.finish()
    append(run, host(1005.0, 100))
    qtbot.waitUntil(lambda: followed.over)
    assert followed.figures.last == 1005.0
    assert followed.figures.value_at("host", "memory", 1005.0) == 5100 * MIB
    assert not followed.timer.isActive()
    assert card_record.LAST_LOOK_MS < EVERY_MS, "it was the last look, and none of the usual ones"


def test_that_a_file_that_is_not_there_is_waited_for(qtbot, run, followed):
    followed.start()
    qtbot.waitUntil(lambda: followed.timer.interval() > 0)
    assert followed.empty
    with qtbot.waitSignal(followed.caught_up):
        append(run, fast(TWO, 1.0))
    assert not followed.empty


def test_that_a_run_that_was_never_recorded_is_known_to_have_no_recording(qtbot, followed):
    followed.start()
    with qtbot.waitSignal(followed.caught_up):
        followed.finish()
    assert followed.over
    assert followed.empty
    assert followed.problem == ""


def test_that_garbage_and_kinds_that_are_not_drawn_are_passed_over(qtbot, run, followed):
    run.hardware_file.write_bytes(
        b"\xff\x00 "
        b'garbage\n{"sample":"fast","time":\n{"sample":"processes","time":1.0,"processes":"no"}\n'
    )
    append(run, host(2.0))
    with qtbot.waitSignal(followed.caught_up):
        followed.start()
    assert followed.revision == 1
    assert followed.figures.first == 2.0


def test_that_a_long_recording_is_read_in_slices(qtbot, run, followed):
    record(run, TWO, 1000.0, 2)
    line = run.hardware_file.read_bytes().splitlines(keepends=True)[2]
    with run.hardware_file.open("ab") as file:
        file.write(line * (4 * MIB // len(line)))
    with qtbot.waitSignal(followed.caught_up):
        followed.start()
        qtbot.waitUntil(lambda: followed.revision > 0)
        assert followed.tail.offset < run.hardware_file.stat().st_size
    assert followed.tail.offset == run.hardware_file.stat().st_size


def test_that_the_curves_of_a_recording_go_on_where_the_clock_was_put_back(qtbot, run, followed):
    append(run, *(host(float(time), time) for time in (5000, 5001, 10, 11, 12)))
    with qtbot.waitSignal(followed.caught_up):
        followed.start()
    memory = followed.figures.series("host", "memory")
    assert memory.column("time").tolist() == [5000.0, 5001.0, 5001.0, 5002.0, 5003.0]
    assert followed.figures.value_at("host", "memory", 5002.5) == 5011 * MIB
    assert (followed.figures.first, followed.figures.last) == (5000.0, 5003.0)


def test_that_a_recording_that_cannot_be_read_says_why_and_is_left(qtbot, run, followed):
    run.hardware_file.mkdir()
    with qtbot.waitSignal(followed.caught_up):
        followed.start()
    assert "cannot be read" in followed.problem
    assert not followed.timer.isActive()
