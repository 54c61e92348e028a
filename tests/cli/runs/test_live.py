"""`runs attach`, `pause`, `resume`, `stop` and `checkpoint`."""

from __future__ import annotations

import signal
import subprocess

import pytest
from patience import PATIENCE_S
from real_runs import told

from gpu_studio.cli.runs import live
from gpu_studio.contract import lock
from gpu_studio.contract.events import Checkpoint, StateChanged
from gpu_studio.runs.state import is_live


@pytest.mark.parametrize(
    "action", ["show", "attach", "pause", "resume", "stop", "checkpoint", "delete", "log"]
)
def test_that_a_run_which_is_not_there_is_refused_with_the_nearest(gpu_studio, ended, action):
    run = ended().directory
    answer = gpu_studio("runs", action, run.id[:-1] + "zz")
    assert answer.code == 2
    assert f"the nearest is {run.id}" in answer.err


def test_that_of_runs_of_which_none_is_alike_the_list_is_told(gpu_studio, ended):
    run = ended().directory
    slug = run.id.partition("-")[2].rpartition("-")[0]
    assert f"the nearest is {run.id}" in gpu_studio("runs", "show", f"{slug[:-1]}qq").err
    answer = gpu_studio("runs", "show", "zzz")
    assert answer.code == 2
    assert "There is no run 'zzz'. All runs: gpu-studio" in answer.err
    assert run.id not in answer.err


@pytest.mark.parametrize("action", ["pause", "resume", "stop", "checkpoint"])
def test_that_a_run_which_has_ended_takes_no_commands(gpu_studio, ended, action):
    run = ended().directory
    answer = gpu_studio("runs", action, "latest")
    assert answer.code == 2
    assert f"for longer with: gpu-studio resume {run.id} --set training.epochs=3" in answer.err
    assert not run.commands_file.exists()


def test_that_a_run_is_paused_goes_on_writes_a_checkpoint_and_stops(gpu_studio, training):
    launched = training()
    for action, state in (("pause", "paused"), ("resume", "running"), ("checkpoint", "running")):
        answer = gpu_studio("runs", action, launched.directory.id, "--json")
        assert (answer.code, answer.document["state"]) == (0, state)
    changes = [event.state for event in told(launched) if isinstance(event, StateChanged)]
    assert changes == ["running", "paused", "running"]
    assert [event.step for event in told(launched) if isinstance(event, Checkpoint)] == [2]
    answer = gpu_studio("runs", "stop", "latest", "--now")
    assert answer.code == 0
    assert answer.err == f"Asked it to stop.\n{launched.directory.id} has ended: stopped.\n"
    assert told(launched)[-1].reason == "stopped_now"


def test_that_a_trainer_which_does_not_answer_is_said_not_to(gpu_studio, training, monkeypatch):
    monkeypatch.setattr(live, "_ANSWER_SECONDS", 0.1)
    training("--deaf")
    answer = gpu_studio("runs", "pause", "latest")
    assert answer.code == 0
    assert "has not answered yet" in answer.err


def test_that_a_trainer_which_does_not_listen_is_made_to(gpu_studio, training):
    launched = training("--deaf")
    answer = gpu_studio("runs", "stop", "latest", "--patience", "0")
    assert answer.code == 0
    assert "sent SIGTERM" in answer.err
    assert launched.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_that_a_run_is_stopped_whatever_is_in_the_place_of_its_events(
    gpu_studio, training, tmp_path, words
):
    launched = training()
    file = launched.directory.events_file
    file.rename(tmp_path / "events")
    file.symlink_to(tmp_path / "events")
    answer = gpu_studio("runs", "stop", "latest", *words)
    assert answer.code == 0
    if words:
        assert answer.document["state"] == "unreadable"
    else:
        assert (
            "has ended. How cannot be read: events.jsonl: this is no file, but a link" in answer.err
        )
    assert not is_live(launched.directory)


def test_that_a_stop_that_cannot_be_done_ends_with_the_reason(gpu_studio, ended):
    """A stop that names somebody else's process in the lock once killed it, and never ended."""
    run = ended().directory
    held = lock.take(run.lock_file)
    with subprocess.Popen(["sleep", "600"]) as bystander:
        held.sign(bystander.pid)
        answer = gpu_studio("runs", "stop", "latest", "--patience", "0")
        assert answer.code == 2
        assert f"Process {bystander.pid} does not hold the lock of this run" in answer.err
        assert bystander.poll() is None
        bystander.kill()
    held.release()


def test_that_attaching_to_a_run_that_has_ended_tells_all_of_it(gpu_studio, ended):
    ended()
    answer = gpu_studio("runs", "attach", "latest")
    assert answer.code == 0
    assert "epoch 2/2" in answer.out
    ended("--fail-at", "2")
    assert gpu_studio("runs", "attach", "latest").code == 1


def test_that_ctrl_c_leaves_an_attached_run_alive(gpu_studio_process, training):
    run = training().directory
    process = gpu_studio_process("runs", "attach", "latest", "--json")
    assert '"started"' in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert f"gpu-studio runs stop {run.id}" in errors
    assert is_live(run)
