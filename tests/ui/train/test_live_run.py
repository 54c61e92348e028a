"""A run as the window follows it.

Directories that were made, and small trainers that really live and die.
"""

from __future__ import annotations

import os
import signal

import pytest
from made_runs import Script, make_run, tell
from PySide6.QtCore import QTimer
from real_runs import start

from gpu_studio.contract import events, lock
from gpu_studio.contract.directory import CommandReader, RunDirectory
from gpu_studio.ui.train import live_run
from gpu_studio.ui.train.live_run import LiveRun

__all__ = ["start"]


@pytest.fixture
def follow(qapp, qtbot):
    """Follow a run, from when all there is has been read; closed at the end of the test."""
    followed: list[LiveRun] = []

    def follow_one(directory: RunDirectory) -> LiveRun:
        live = LiveRun(directory)
        followed.append(live)
        with qtbot.waitSignal(live.loaded):
            live.start()
        return live

    yield follow_one
    for live in followed:
        live.close()


@pytest.fixture
def held_run(runs_dir):
    """A directory whose lock this process holds, as a trainer would."""
    run = make_run(runs_dir, Script(trained=1.2, epochs=3))
    held = lock.take(run.lock_file)
    yield run
    held.release()


def test_that_a_finished_run_is_read_and_no_longer_followed(qtbot, follow, runs_dir):
    live = follow(make_run(runs_dir, Script(ending="completed", trained=3, epochs=3)))
    assert live.state == "finished"
    assert live.history.step == 600
    assert not live.following
    assert not live.live


def test_that_what_is_appended_to_a_live_run_is_told_of_within_its_rhythm(qtbot, follow, held_run):
    live = follow(held_run)
    assert live.state == "running"
    with qtbot.waitSignal(live.changed):
        tell(held_run, events.Log(message="hello"))
    assert live.history.log[-1].message == "hello"
    with qtbot.waitSignal(live.state_changed) as told:
        tell(held_run, events.StateChanged(state="paused"))
    assert told.args == ["paused"]
    assert live.state == "paused"


def test_that_the_end_is_told_once_and_ends_the_reading(qtbot, follow, held_run):
    live = follow(held_run)
    ends = []
    live.ended.connect(lambda: ends.append(live.state))
    with qtbot.waitSignal(live.ended):
        tell(held_run, events.Finished(reason="completed", seconds=1.0, epoch=3, step=600))
    assert ends == ["finished"]
    assert not live.following


@pytest.fixture
def short_slices(monkeypatch):
    """As on a disk so slow that a slice is over with the first bytes."""
    monkeypatch.setattr(live_run, "SLICE_MS", 0)


@pytest.mark.usefixtures("short_slices")
def test_that_a_long_run_is_read_in_slices_between_which_the_window_lives(qtbot, runs_dir):
    live = LiveRun(
        make_run(runs_dir, Script(trained=50, epochs=60, steps=1000, per_call=10, call_seconds=0.5))
    )
    turns, slices = [], []
    timer = QTimer()
    timer.timeout.connect(lambda: turns.append(len(slices)))
    timer.start(0)
    live.changed.connect(lambda: slices.append(live.state))
    with qtbot.waitSignal(live.loaded):
        live.start()
    timer.stop()
    assert len(slices) > 5
    assert set(slices) == {None}
    assert len(set(turns)) > 5
    assert live.history.step == 50_000
    assert live.state == "lost"
    live.close()


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize(("ending", "state"), [("completed", "finished"), ("none", "lost")])
def test_that_the_curve_of_a_long_run_stands_whole_before_it_is_read_and_then_fills_in(
    qtbot, runs_dir, monkeypatch, ending, state
):
    monkeypatch.setattr(live_run, "SMALLEST", 1024 * 1024)
    monkeypatch.setattr(live_run, "AHEAD_MS", 60_000)
    script = Script(trained=60, epochs=60, steps=1000, per_call=10, call_seconds=0.5, ending=ending)
    live = LiveRun(make_run(runs_dir, script))
    slices, coarse = [], []

    def look() -> None:
        slices.append((live.reading, live.share_read, live.state, live.history))
        coarse.append(len(live.history.losses))

    live.changed.connect(look)
    with qtbot.waitSignal(live.loaded):
        live.start()
    reading, share, first_state, seen = slices[0]
    assert (reading, share, first_state) == (True, 0.0, state)
    assert (seen.step, seen.state) == (60_000, state)
    assert 100 < coarse[0] < 60_000
    assert len(slices) > 3
    shares = [share for _, share, _, _ in slices]
    assert shares == sorted(shares)
    assert {state for _, _, state, _ in slices} == {state}
    assert live.history is not seen
    assert (live.history.losses.total, live.history.state) == (60_001, state)
    assert live.history.losses.column("step").tolist() == list(range(1, 60_001)), (
        "nothing coarse is left"
    )
    assert live.calls.at(live.history.last_time) is not None
    live.close()


def test_that_a_slow_disk_shows_at_least_both_ends_of_a_long_run(qtbot, runs_dir, monkeypatch):
    monkeypatch.setattr(live_run, "SMALLEST", 1024 * 1024)
    monkeypatch.setattr(live_run, "AHEAD_MS", 0)
    live = LiveRun(
        make_run(runs_dir, Script(trained=60, epochs=60, steps=1000, per_call=10, call_seconds=0.5))
    )
    seen = []
    live.changed.connect(lambda: seen.append((live.history.step, live.history.losses.last("step"))))
    with qtbot.waitSignal(live.loaded):
        live.start()
    assert seen[0] == (60_000, 60_000)
    live.close()


def test_that_a_directory_without_events_or_holder_is_lost(follow, runs_dir):
    assert follow(RunDirectory.create(runs_dir, "empty")).state == "lost"


def test_that_a_directory_without_events_but_with_a_holder_is_starting(follow, runs_dir):
    run = RunDirectory.create(runs_dir, "empty")
    held = lock.take(run.lock_file)
    assert follow(run).state == "starting"
    held.release()


def test_that_a_killed_trainer_is_lost_on_screen(qtbot, follow, start):
    launched = start("--hold-at", "3")
    live = follow(launched.directory)
    qtbot.waitUntil(lambda: live.history.step == 3)
    with qtbot.waitSignal(live.ended):
        os.kill(launched.process.pid, signal.SIGKILL)
    assert live.state == "lost"
    assert not live.following


def test_that_what_a_trainer_wrote_just_before_its_death_is_read_before_the_run_is_lost(
    qtbot, follow, held_run, monkeypatch
):
    """It writes and dies between a read and the look at its lock."""
    live = follow(held_run)
    looks = []

    def dies(run: RunDirectory, last_known: events.State = "starting") -> events.State:
        if not looks:
            tell(held_run, events.Log(message="last words"))
        looks.append(last_known)
        return "lost"

    monkeypatch.setattr(live_run, "state_of", dies)
    with qtbot.waitSignal(live.ended):
        pass
    assert live.state == "lost"
    assert live.history.log[-1].message == "last words"


def test_that_a_run_is_paused_and_goes_on_when_asked(qtbot, follow, start):
    live = follow(start("--hold-at", "3").directory)
    qtbot.waitUntil(lambda: live.state == "running")
    live.pause()
    assert "pause" in live.waiting_for
    qtbot.waitUntil(lambda: live.state == "paused")
    assert live.waiting_for == ""
    live.resume()
    qtbot.waitUntil(lambda: live.state == "running")


def test_that_a_checkpoint_is_waited_for_until_it_is_written(qtbot, follow, start):
    live = follow(start("--hold-at", "3").directory)
    qtbot.waitUntil(lambda: live.history.step == 3)
    live.checkpoint()
    assert "checkpoint" in live.waiting_for
    qtbot.waitUntil(lambda: live.waiting_for == "")
    assert [saved.step for saved in live.history.checkpoints] == [3]


def test_that_a_polite_stop_leaves_a_checkpoint(qtbot, follow, start):
    live = follow(start("--hold-at", "3").directory)
    qtbot.waitUntil(lambda: live.history.step == 3)
    with qtbot.waitSignal(live.ended):
        live.stop()
        assert "checkpoint" in live.waiting_for
    assert live.history.finished.reason == "stopped"
    assert live.waiting_for == ""
    assert live.stopper is not None


def test_that_a_deaf_trainer_goes_on_under_a_polite_stop_until_it_is_escalated(
    qtbot, follow, start
):
    live = follow(start("--hold-at", "3", "--deaf").directory)
    qtbot.waitUntil(lambda: live.history.step == 3)
    live.stop()
    assert live.stopper.next_rung == "Terminate"
    with qtbot.waitSignal(live.ended):
        live.escalate_stop()
        assert "SIGTERM" in live.waiting_for
    assert live.state == "stopped"


def test_that_stopping_now_asks_for_no_checkpoint(qtbot, follow, start):
    live = follow(start("--hold-at", "3").directory)
    qtbot.waitUntil(lambda: live.history.step == 3)
    with qtbot.waitSignal(live.ended):
        live.stop_now()
    assert live.history.finished.reason == "stopped_now"
    assert live.history.checkpoints == []


def test_that_a_run_that_has_ended_is_asked_nothing_more(follow, runs_dir):
    live = follow(make_run(runs_dir, Script(ending="completed", trained=1, epochs=1)))
    for ask in (live.pause, live.resume, live.checkpoint, live.stop, live.stop_now):
        ask()
    assert CommandReader(live.run.commands_file).read() == []
    assert live.waiting_for == ""


@pytest.mark.parametrize("action", ["pause", "checkpoint"])
def test_that_a_request_that_cannot_be_written_is_said_in_words(qtbot, follow, held_run, action):
    live = follow(held_run)
    held_run.commands_file.mkdir()
    with qtbot.waitSignal(live.status) as told:
        getattr(live, action)()
    assert str(held_run.path) in told.args[0]
    assert live.waiting_for == ""


def test_that_a_run_that_cannot_be_read_any_more_says_so_once_and_is_left(qtbot, follow, held_run):
    live = follow(held_run)
    said = []
    live.status.connect(said.append)
    held_run.events_file.unlink()
    held_run.events_file.mkdir()
    qtbot.waitUntil(lambda: not live.following)
    assert said == [live.problem]
    assert str(held_run.path) in live.problem
