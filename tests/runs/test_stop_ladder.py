from __future__ import annotations

import errno
import os
import signal
import socket
import sys

import pytest
from patience import PATIENCE_S
from real_runs import PLAN, eventually, told

from gpu_studio.contract import kernel, lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Checkpoint, Finished
from gpu_studio.runs import stop
from gpu_studio.runs.launch import launch
from gpu_studio.runs.stop import Patience, StopLadder

AT_ONCE = Patience(asked=0.0, terminated=0.0)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def climbed(ladder, launched):
    """The stages until the trainer is gone, each once."""
    stages = [ladder.stage]

    def gone():
        launched.poll()
        if (stage := ladder.advance()) != stages[-1]:
            stages.append(stage)
        return stage == "gone"

    eventually(gone, "the end of the trainer")
    return stages


def test_that_a_trainer_which_listens_stops_with_a_checkpoint(training):
    launched = training()
    assert climbed(StopLadder(launched.directory), launched) == ["asked", "gone"]
    *_, saved, end = told(launched)
    assert isinstance(saved, Checkpoint)
    assert isinstance(end, Finished)
    assert end.reason == "stopped"


def test_that_a_trainer_that_is_still_starting_is_stopped_and_not_its_launcher(runs_dir):
    """Python takes a while until the trainer signs.

    A stop at that time once went to whoever had launched it.
    """
    # Not a shell: some unblock every signal as they begin, and would end of the one kept.
    starting = [sys.executable, "-c", "import time; time.sleep(600)"]
    launched = launch(PLAN, runs_dir, trainer=starting)
    holder = lock.holder(launched.directory.lock_file)
    assert holder is not None
    assert holder.pid == launched.process.pid
    ladder = StopLadder(launched.directory, patience=Patience(asked=0.0, terminated=60.0))
    assert ladder.advance() == "terminated"
    assert launched.poll() is None  # it keeps what it cannot tell of yet
    assert ladder.escalate() == "killed"
    assert launched.process.wait(PATIENCE_S) == -signal.SIGKILL


def test_that_sigterm_while_python_starts_the_trainer_stops_the_run_and_does_not_lose_it(start):
    launched = start("--hold-at", "2")
    os.kill(launched.process.pid, signal.SIGTERM)
    assert launched.process.wait(PATIENCE_S) == 0
    *_, end = told(launched)
    assert isinstance(end, Finished)
    assert end.reason == "stopped"


def test_that_stop_now_writes_no_checkpoint(training):
    launched = training()
    assert climbed(StopLadder(launched.directory, now=True), launched) == ["asked", "gone"]
    assert told(launched)[-1].reason == "stopped_now"
    assert not launched.directory.checkpoints.exists()


def test_that_a_trainer_deaf_to_commands_gets_sigterm_and_still_writes_its_checkpoint(training):
    launched = training("--deaf")
    ladder = StopLadder(launched.directory, patience=Patience(asked=0.0, terminated=30.0))
    assert climbed(ladder, launched) == ["asked", "terminated", "gone"]
    assert told(launched)[-1].reason == "stopped"
    assert launched.process.wait(PATIENCE_S) == 0


def test_that_a_trainer_deaf_to_everything_is_killed(training):
    launched = training("--deaf", "--ignore-term")
    assert climbed(StopLadder(launched.directory, patience=AT_ONCE), launched)[-2:] == [
        "killed",
        "gone",
    ]
    assert launched.process.wait(PATIENCE_S) == -signal.SIGKILL


def test_that_processes_the_trainer_started_are_killed_with_it(training):
    launched = training("--deaf", "--ignore-term", "--child")
    child = int(launched.directory.log_file.read_text().split()[1])
    climbed(StopLadder(launched.directory, patience=AT_ONCE), launched)
    eventually(lambda: _is_gone(child), "the end of the child")


def _is_gone(pid):
    import psutil

    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_that_each_rung_waits_for_its_time(training):
    clock = Clock()
    launched = training("--deaf", "--ignore-term")
    ladder = StopLadder(launched.directory, patience=Patience(asked=30, terminated=10), clock=clock)
    clock.now = 29.0
    assert (ladder.advance(), ladder.seconds_left) == ("asked", 1.0)
    clock.now = 30.0
    assert (ladder.advance(), ladder.seconds_left) == ("terminated", 10.0)
    assert ladder.escalate() == "killed"
    assert ladder.seconds_left == Patience().killed
    launched.process.wait(PATIENCE_S)
    assert ladder.advance() == ladder.escalate() == "gone"


def test_that_nobody_is_signalled_for_a_run_on_another_computer(tmp_path):
    run = RunDirectory.create(tmp_path, "x")
    held = lock.take(run.lock_file)
    run.lock_file.write_text("1 elsewhere\n")
    ladder = StopLadder(run, patience=AT_ONCE)
    assert ladder.advance() == "asked"
    assert "another computer, elsewhere" in ladder.problem
    held.release()
    assert ladder.advance() == "gone"


def test_that_nobody_is_signalled_for_a_run_in_another_container(tmp_path):
    """There the number is that of another process, also where both call the computer the same."""
    run = RunDirectory.create(tmp_path, "x")
    held = lock.take(run.lock_file)
    run.lock_file.write_text(f"1 {socket.gethostname()} {kernel.boot_id() or '-'} 0 1 pid:[1]\n")
    ladder = StopLadder(run, patience=AT_ONCE)
    assert ladder.advance() == "asked"
    assert "another container" in ladder.problem
    held.release()


@pytest.mark.parametrize("words", ["", f"{kernel.boot_id() or '-'} 0 1"])
def test_that_a_process_younger_than_the_signature_is_not_signalled(tmp_path, training, words):
    """A child of the dead trainer holds the lock, and its number is somebody else's now.

    Signed was without a start, as an older version did, or with one that is not that of this
    process."""
    bystander = training()
    run = RunDirectory.create(tmp_path, "x")
    held = lock.take(run.lock_file)
    run.lock_file.write_text(f"{bystander.process.pid} {socket.gethostname()} {words}\n")
    os.utime(run.lock_file, (1e9, 1e9))
    ladder = StopLadder(run, patience=AT_ONCE)
    ladder.escalate()
    assert f"Process {bystander.process.pid}, the trainer of this run, is gone" in ladder.problem
    assert bystander.poll() is None
    held.release()


def test_that_a_process_that_does_not_hold_the_lock_is_not_signalled(tmp_path, training):
    """Whoever can write into a runs folder can sign a lock there with any process's number."""
    victim = training()
    run = RunDirectory.create(tmp_path, "x")
    held = lock.take(run.lock_file)
    held.sign(victim.process.pid)
    ladder = StopLadder(run, now=True, patience=AT_ONCE)
    assert (ladder.advance(), ladder.escalate()) == ("asked", "asked")
    assert f"Process {victim.process.pid} does not hold the lock" in ladder.problem
    assert victim.poll() is None
    held.release()


def test_that_a_process_of_somebody_else_is_not_signalled(training, monkeypatch):
    launched = training("--deaf")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    ladder = StopLadder(launched.directory, patience=AT_ONCE)
    assert ladder.advance() == "asked"
    assert "belongs to another user" in ladder.problem
    assert launched.poll() is None


@pytest.mark.parametrize(("now", "first"), [(False, "terminated"), (True, "killed")])
def test_that_a_run_on_a_disk_that_takes_no_request_is_stopped_by_signals(
    training, monkeypatch, now, first
):
    launched = training()
    monkeypatch.setattr(stop, "send", refused)
    ladder = StopLadder(launched.directory, now=now)
    assert ladder.stage == first
    assert "No space left on device" in ladder.said
    assert climbed(ladder, launched) == [first, "gone"]
    if not now:
        assert told(launched)[-1].reason == "stopped"


def refused(run, action):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_that_a_process_which_survives_its_killing_ends_the_ladder_with_a_sentence(
    training, monkeypatch
):
    """As one that hangs in the kernel, at a disk or a card that does not answer."""
    clock = Clock()
    launched = training("--deaf", "--ignore-term")
    monkeypatch.setattr(stop.os, "killpg", lambda pid, number: None)
    ladder = StopLadder(launched.directory, patience=AT_ONCE, clock=clock)
    assert (ladder.escalate(), ladder.escalate()) == ("terminated", "killed")
    clock.now += AT_ONCE.killed
    assert ladder.advance() == "stuck"
    assert f"Process {launched.process.pid} was sent SIGKILL, but has not ended" in ladder.problem
    assert ladder.seconds_left is None
    assert ladder.escalate() == "stuck"


def test_that_a_clock_that_was_set_does_not_hide_the_trainer_from_its_stop(training):
    """By the clock the trainer was started long after it signed."""
    deaf = training("--deaf")
    os.utime(deaf.directory.lock_file, (1e9, 1e9))
    ladder = StopLadder(deaf.directory, patience=AT_ONCE)
    assert ladder.advance() == "terminated"
    deaf.process.wait(PATIENCE_S)
    assert ladder.advance() == "gone"
