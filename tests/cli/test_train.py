from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import termios
import time

import pytest
from patience import PATIENCE_S
from real_runs import eventually

from gpu_studio import plan as plans
from gpu_studio.cli import following
from gpu_studio.contract.directory import checkpoints
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.end_reports import is_reported
from gpu_studio.runs.state import is_live, state_of


@pytest.fixture
def the_run(runs_dir):
    """The newest run, once it has trained the two steps at which the small trainer holds."""

    def trained():
        runs = directories(runs_dir)
        told = runs and runs[0].events_file.exists() and runs[0].events_file.read_bytes()
        return runs[0] if told and b'"first_step":1' in told else None

    return lambda: eventually(trained, "the run to train")


def test_that_training_is_told_by_a_line_for_each_epoch(
    gpu_studio, plan_file, machine, trainer, runs_dir
):
    answer = gpu_studio("train", plan_file)
    assert answer.code == 0
    [run] = directories(runs_dir)
    lines = answer.out.splitlines()
    assert lines[0] == f"a plan: run {run.id}"
    assert [line.split("  ")[0] for line in lines if line.startswith("epoch")] == [
        "epoch 1/2",
        "epoch 2/2",
    ]
    assert "val_loss 0.2000" in answer.out
    assert lines[-1].startswith("finished after ")
    assert not run.reported_file.exists()  # nobody need have looked: a window is to tell of it


def test_that_json_is_the_events_as_they_stand_in_the_file(
    gpu_studio, plan_file, machine, trainer, runs_dir
):
    answer = gpu_studio("train", plan_file, "--json")
    [run] = directories(runs_dir)
    assert answer.documents == [
        json.loads(line) for line in run.events_file.read_text().splitlines()
    ]
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (
            ["--fail-at", "3"],
            1,
            ["failed: Training broke: the data has a hole.", "  - Mend the data."],
        ),
        (["--crash-at", "3"], 4, ["lost: The trainer crashed in native code"]),
        (["--vanish-at", "3"], 4, ["lost: The trainer ended with exit code 3"]),
        (["--raise-at-start"], 4, ["lost: The trainer could not start: ModuleNotFoundError"]),
    ],
)
def test_that_a_bad_end_has_its_exit_code_and_says_what_to_try(
    gpu_studio, plan_file, machine, trainer, flags, code, words
):
    trainer(*flags)
    answer = gpu_studio("train", plan_file)
    assert answer.code == code
    for word in words:
        assert word in answer.out


def test_that_a_lost_run_ends_its_json_with_that_state(gpu_studio, plan_file, machine, trainer):
    trainer("--vanish-at", "3")
    last = gpu_studio("train", plan_file, "--json").documents[-1]
    assert (last["event"], last["state"]) == ("state", "lost")
    assert "exit code 3" in last["reason"]


def test_that_a_trainer_which_lingers_after_its_last_word_is_not_waited_for_for_ever(
    gpu_studio, plan_file, machine, trainer, runs_dir, monkeypatch
):
    monkeypatch.setattr(following, "_FAREWELL_SECONDS", 0.2)
    trainer("--linger")
    assert gpu_studio("train", plan_file).code == 0
    assert is_live(directories(runs_dir)[0])


def test_that_settings_and_a_name_change_the_plan(
    gpu_studio, plan_file, machine, trainer, runs_dir
):
    gpu_studio(
        "train",
        plan_file,
        "--set",
        "training.epochs=7",
        "training.batch_size=16",
        "--name",
        "Another One",
    )
    [run] = directories(runs_dir)
    plan = plans.load(run.plan_file)
    assert (plan.training.epochs, plan.training.batch_size, plan.name) == (7, 16, "Another One")
    assert "another-one" in run.id


def test_that_without_a_plan_the_starter_plan_of_this_machine_is_trained(
    gpu_studio, machine, trainer, runs_dir
):
    assert gpu_studio("train").code == 0
    assert gpu_studio("train", "starter").code == 0
    assert [plans.load(run.plan_file) for run in directories(runs_dir)] == [
        plans.starter(machine)
    ] * 2


@pytest.mark.parametrize(
    "wrong", ["training.epochs=0", "training.epoch=1", "training.epochs=many", "data.file=gone.npz",
              "devices.carve=[{ device = 'GPU:0', slices_mib = [1] }]"]
)  # fmt: skip
def test_that_a_refused_plan_writes_nothing_and_starts_nothing(
    gpu_studio, plan_file, machine, trainer, runs_dir, wrong
):
    answer = gpu_studio("train", plan_file, "--set", wrong)
    assert answer.code == 2
    assert answer.out == ""
    assert wrong.partition("=")[0].split(".")[1].rstrip("s") in answer.err
    assert list(runs_dir.iterdir()) == []


def test_that_an_empty_name_is_refused_and_not_passed_over(
    gpu_studio, plan_file, machine, trainer, runs_dir
):
    answer = gpu_studio("train", plan_file, "--name", "")
    assert answer.code == 2
    assert "give the plan a name" in answer.err
    assert directories(runs_dir) == []


def test_that_a_detached_run_is_named_and_goes_on(gpu_studio, plan_file, machine, trainer, the_run):
    trainer("--hold-at", "2")
    answer = gpu_studio("train", plan_file, "--detach")
    run = the_run()
    assert (answer.code, answer.out) == (0, f"{run.id}\n")
    assert (
        answer.err == "Run #1 trains in the background. Watch it with: gpu-studio runs attach 1\n"
    )
    assert is_live(run)


def test_that_a_detached_run_is_described_in_json(gpu_studio, plan_file, machine, trainer, the_run):
    trainer("--hold-at", "2")
    document = gpu_studio("train", plan_file, "--detach", "--json").document
    run = the_run()
    assert (document["run"], document["directory"]) == (run.id, str(run.path))
    assert os.getsid(document["pid"]) == document["pid"]


def test_that_a_lost_run_is_resumed_where_it_stood(
    gpu_studio, plan_file, machine, trainer, runs_dir
):
    trainer("--vanish-at", "7", "--checkpoint-every", "3")
    gpu_studio("train", plan_file)
    [lost] = directories(runs_dir)
    trainer()
    answer = gpu_studio("resume", "latest", "--set", "training.epochs=2")
    assert answer.code == 0
    assert f"resumed from {lost.id} at step 6" in answer.out
    assert (
        gpu_studio("resume", lost.id, "--checkpoint", "step-00000003", "--json").documents[0][
            "from_step"
        ]
        == 3
    )


def test_that_a_lost_run_goes_on_with_another_plan_by_either_command(
    gpu_studio, plan_file, machine, trainer, runs_dir, tmp_path
):
    trainer("--vanish-at", "7", "--checkpoint-every", "3")
    gpu_studio("train", plan_file)
    [lost] = directories(runs_dir)
    trainer()
    other = tmp_path / "other.plan.toml"
    plans.save(
        plans.with_settings(plans.load(plan_file), ["distribution.strategy=one_device"]), other
    )
    assert gpu_studio("resume", lost.id, "--plan", other).code == 0
    assert plans.load(directories(runs_dir)[0].plan_file).distribution.strategy == "one_device"
    assert gpu_studio("runs", "resume", lost.id, "--set", "training.epochs=3").code == 0
    assert plans.load(directories(runs_dir)[0].plan_file).training.epochs == 3
    refused = gpu_studio("resume", lost.id, "--plan", other, "--set", "data.name=mnist")
    assert (refused.code, len(directories(runs_dir))) == (2, 3)
    assert "data.name" in refused.err


def test_that_what_cannot_be_resumed_is_refused(gpu_studio, plan_file, machine, trainer, runs_dir):
    assert "no runs" in gpu_studio("resume", "latest").err
    gpu_studio("train", plan_file)
    answer = gpu_studio("resume", "latest")
    assert (answer.code, len(directories(runs_dir))) == (2, 1)
    assert "no complete checkpoint" in answer.err


def test_that_ctrl_c_once_stops_with_a_checkpoint(gpu_studio_process, plan_file, trainer, the_run):
    trainer("--hold-at", "2")
    process = gpu_studio_process("train", plan_file)
    run = the_run()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (3, "")
    assert "Ctrl+C again stops it now" in out
    assert ", with a checkpoint: loss 0.5000" in out.splitlines()[-2]
    assert out.splitlines()[-1] == f"Go on with: gpu-studio resume {run.id}"
    assert len(checkpoints(run)) == 1


def test_that_ctrl_c_twice_stops_now(gpu_studio_process, plan_file, trainer, the_run):
    trainer("--hold-at", "2", "--deaf", "--ignore-term")
    process = gpu_studio_process("train", plan_file)
    run = the_run()
    process.send_signal(signal.SIGINT)
    assert _read_until(process.stdout, "Ctrl+C again stops")
    process.send_signal(signal.SIGINT)
    assert _read_until(process.stdout, "Ctrl+C again ends the process")
    assert '"stop_now"' in run.commands_file.read_text()
    process.send_signal(signal.SIGINT)
    assert _read_until(process.stdout, "sent SIGTERM")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert "SIGKILL" in out
    assert (process.returncode, state_of(run)) == (4, "lost")


def _read_until(stream, text):
    """Read lines up to the one with this text."""
    return next((line for line in stream if text in line), None)


def test_that_killing_the_command_leaves_the_run_alive(
    gpu_studio_process, plan_file, trainer, the_run
):
    trainer("--hold-at", "2")
    process = gpu_studio_process("train", plan_file)
    run = the_run()
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    assert is_live(run)


@pytest.fixture
def terminal(gpu_studio_process):
    """Start a command in a terminal of its own, as its shell would.

    Gives the process and the terminal.
    """
    leaders = []

    def open_terminal(*arguments):
        leader, follower = pty.openpty()
        leaders.append(leader)
        process = gpu_studio_process(
            *arguments,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(follower)
        return process, leader

    yield open_terminal
    for leader in leaders:
        with contextlib.suppress(OSError):
            os.close(leader)


def test_that_a_terminal_shows_progress_that_moves_and_passes_ctrl_c_on(
    terminal, plan_file, trainer, the_run
):
    trainer("--hold-at", "2")
    process, screen = terminal("train", plan_file)
    run = the_run()
    # It may have shown the first step before the second.
    _read_terminal_until(screen, "epoch 1/2", "20 %", "samples/s", "CPU:0", "peak 2 MiB")
    os.write(screen, b"\x03")
    assert "Ctrl+C again" in _read_terminal_until(screen, "Go on with")
    assert process.wait(PATIENCE_S) == 3
    assert (run.reported_file.exists(), is_reported(run)) == (True, False)


def test_that_closing_the_terminal_leaves_the_run_alive(terminal, plan_file, trainer, the_run):
    trainer("--hold-at", "2")
    process, screen = terminal("train", plan_file)
    run = the_run()
    os.close(screen)
    assert process.wait(PATIENCE_S) == -signal.SIGHUP
    assert is_live(run)


def _read_terminal_until(screen, *texts):
    shown = ""
    deadline = time.monotonic() + PATIENCE_S
    while not all(text in shown for text in texts):
        assert time.monotonic() < deadline, f"waited in vain for {texts} in {shown!r}"
        if select.select([screen], [], [], 1.0)[0]:
            shown += os.read(screen, 4096).decode("utf-8", "replace")
    return shown
