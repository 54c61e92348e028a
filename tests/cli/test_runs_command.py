from __future__ import annotations

import signal
import subprocess

import pytest
from real_runs import PATIENCE_S, told

from gpu_studio.cli.runs import run_actions
from gpu_studio.runs import lock
from gpu_studio.runs.events import Checkpoint, StateChanged
from gpu_studio.runs.state import is_live


def test_that_no_runs_are_no_error(gpu_studio, runs_dir):
    answer = gpu_studio("runs", "list")
    assert (answer.code, answer.out) == (0, "")
    assert str(runs_dir) in answer.err
    assert gpu_studio("runs", "list", "--json").document == []


def test_that_runs_are_listed_in_a_table_newest_first(gpu_studio, ended, training):
    first, second = ended().directory, training().directory
    heading, *rows = gpu_studio("runs", "list").out.splitlines()
    assert heading.split() == ["#", "RUN", "STATE", "EPOCH", "BEST", "TIME", "NAME"]
    assert [row.split()[:3] for row in rows] == [["2", second.id, "running"], ["1", first.id, "finished"]]
    assert "val_accuracy 0.9000" in rows[1]


def test_that_the_list_for_programs_has_figures(gpu_studio, ended):
    run = ended().directory
    [row] = gpu_studio("runs", "list", "--json").document
    assert (row["run"], row["state"], row["epoch"], row["step"]) == (run.id, "finished", 2, 10)
    assert row["best"] == {"metric": "val_accuracy", "value": 0.9, "epoch": 2}
    assert row["peak_bytes"] == {"CPU:0": 2 << 20}


def test_that_another_runs_directory_is_another_world(gpu_studio, ended, tmp_path):
    ended()
    assert gpu_studio("--runs-dir", tmp_path, "runs", "list", "--json").document == []
    assert gpu_studio("runs", "list", "--json", "--runs-dir", tmp_path).document == []


def test_that_a_run_is_shown_with_its_figures(gpu_studio, ended):
    run = ended("--checkpoint-every", "5").directory
    shown = gpu_studio("runs", "show", "latest")
    assert shown.code == 0
    for text in (run.id, "10 of 10 steps (100 %)", "step-00000010", "val_loss 0.2000", "CPU:0 2.0 MiB"):
        assert text in shown.out
    document = gpu_studio("runs", "show", run.id, "--json").document
    assert (document["state"], document["step"], document["metrics"]) == ("finished", 10, {"loss": 0.5})
    assert [row["metrics"]["val_loss"] for row in document["epochs_table"]] == [0.4, 0.2]
    assert document["checkpoints"] == ["step-00000005", "step-00000010"]


def test_that_a_lost_run_is_shown_with_the_reason_and_the_way_on(gpu_studio, ended):
    run = ended("--crash-at", "3", "--checkpoint-every", "2").directory
    shown = gpu_studio("runs", "show", run.id).out
    assert "segmentation fault" in shown
    assert f"gpu-studio resume {run.id}" in shown
    assert "Fatal Python error" in shown
    document = gpu_studio("runs", "show", run.id, "--json").document
    assert document["state"] == "lost"
    assert document["suggestions"]


@pytest.mark.parametrize("action", ["show", "attach", "pause", "resume", "stop", "checkpoint", "delete", "log"])
def test_that_a_run_which_is_not_there_is_refused_with_the_nearest(gpu_studio, ended, action):
    run = ended().directory
    answer = gpu_studio("runs", action, run.id[:-1] + "zz")
    assert answer.code == 2
    assert f"the nearest is {run.id}" in answer.err


@pytest.mark.parametrize("action", ["pause", "resume", "stop", "checkpoint"])
def test_that_a_run_which_has_ended_takes_no_commands(gpu_studio, ended, action):
    run = ended().directory
    answer = gpu_studio("runs", action, "latest")
    assert answer.code == 2
    assert f"gpu-studio resume {run.id}" in answer.err
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
    monkeypatch.setattr(run_actions, "_ANSWER_SECONDS", 0.1)
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


def test_that_a_stop_that_cannot_be_done_ends_with_the_reason(gpu_studio, ended):
    """Somebody else's process is named in the lock: once it was killed, and the command never ended."""
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


def test_that_a_deleted_run_is_taken_back(gpu_studio, ended):
    run = ended().directory
    assert gpu_studio("runs", "delete", "latest").err.endswith(f"gpu-studio runs restore {run.id}\n")
    assert gpu_studio("runs", "list", "--json").document == []
    assert gpu_studio("runs", "restore", run.id, "--json").document["run"] == run.id
    assert len(gpu_studio("runs", "list", "--json").document) == 1
    assert gpu_studio("runs", "restore", run.id).code == 2


def test_that_a_living_run_is_not_deleted(gpu_studio, training):
    run = training().directory
    answer = gpu_studio("runs", "delete", "latest")
    assert (answer.code, run.exists()) == (2, True)
    assert "stop it first" in answer.err


def test_that_the_log_is_printed_whole_or_its_end(gpu_studio, ended):
    ended("--abort-at", "2")
    whole = gpu_studio("runs", "log", "latest").out.splitlines()
    assert "Check failed" in whole[0]
    assert gpu_studio("runs", "log", "latest", "--tail", "2").out.splitlines() == whole[-2:]
    assert gpu_studio("runs", "log", "latest", "--tail", "0").out == ""
