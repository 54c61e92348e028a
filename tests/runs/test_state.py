from __future__ import annotations

import pytest
from real_runs import eventually, has_trained

from gpu_studio.contract import lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Failed, Finished, Log, Memory, encode
from gpu_studio.runs.state import is_live, state_of, terminal_event

FINISHED = Finished(reason="completed", seconds=1, epoch=1, step=1)


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path, "x")


def write(run, *events):
    run.events_file.write_bytes(b"".join(map(encode, events)))


def test_that_a_run_without_events_and_without_a_trainer_is_lost(run):
    assert state_of(run) == "lost"
    assert not is_live(run)


def test_that_a_living_run_is_as_it_last_said(run):
    held = lock.take(run.lock_file)
    assert is_live(run)
    assert [state_of(run, known) for known in ("starting", "paused", "running")] == [
        "starting",
        "paused",
        "running",
    ]
    held.release()
    assert state_of(run, "paused") == "lost"


def test_that_what_has_ended_stays_ended(run):
    assert state_of(run, "finished") == "finished"
    assert state_of(run, "stopped") == "stopped"
    assert state_of(run, "failed") == "failed"


def test_that_an_end_which_the_reader_has_not_read_yet_is_no_loss(run):
    write(run, Log(message="x"), FINISHED)
    assert state_of(run, "running") == "finished"
    write(run, Finished(reason="stopped", seconds=1, epoch=1, step=1))
    assert state_of(run, "running") == "stopped"
    write(run, Failed(message="x", suggestions=[], traceback="t" * 300_000))
    assert state_of(run, "running") == "failed"


def test_that_an_end_is_found_before_late_events_and_behind_a_long_file(run):
    write(run, *(Log(message="x" * 1000) for _ in range(2000)), FINISHED, Memory(devices=[]))
    assert terminal_event(run) == FINISHED


def test_that_a_cut_last_word_is_none(run):
    run.events_file.write_bytes(encode(FINISHED)[:20])
    assert state_of(run, "running") == "lost"


def test_that_a_killed_trainer_is_lost_at_once(start):
    launched = start("--hold-at", "2")
    eventually(has_trained(launched, 2))
    assert state_of(launched.directory, "running") == "running"
    launched.process.kill()
    launched.process.wait()
    assert state_of(launched.directory, "running") == "lost"
