from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

WORKERS = "distribution.strategy=multi_worker"
TRUSTED = "cluster.trusted_network=true"  # whatever addresses this machine has


def test_that_a_sound_cluster_is_examined_and_told(gpu_studio, plan_file):
    answer = gpu_studio("cluster", "examine", plan_file, "--set", WORKERS, TRUSTED)
    assert answer.code == 0
    assert "All 2 answered" in answer.out
    words = ("cluster", "examine", plan_file, "--json", "--set", WORKERS, TRUSTED)
    told = json.loads(gpu_studio(*words).out)
    assert told["well"] is True
    assert {"hosts", "port", "reach", "versions"} <= {each["check"] for each in told["findings"]}


def test_that_what_must_be_mended_is_an_exit_code(gpu_studio, plan_file):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = f"cluster.port={held.getsockname()[1]}"
        answer = gpu_studio("cluster", "examine", plan_file, "--set", WORKERS, port)
        assert (answer.code, "✘ Port" in answer.out) == (1, True)
        assert "cluster.port = 0" in answer.out
        words = ("cluster", "examine", plan_file, "--json", "--set", WORKERS, port)
        assert json.loads(gpu_studio(*words).out)["well"] is False


def test_that_a_plan_of_one_process_or_a_wrong_one_is_refused(gpu_studio, plan_file):
    answer = gpu_studio("cluster", "examine", plan_file)
    assert (answer.code, "multi_worker" in answer.err) == (2, True)
    answer = gpu_studio("cluster", "submit", plan_file)
    assert (answer.code, "multi_worker" in answer.err) == (2, True)
    assert "--to" not in answer.err, "an option that only export has"
    answer = gpu_studio("cluster", "examine", plan_file, "--set", WORKERS, "cluster.workers=0")
    assert (answer.code, "cluster.workers" in answer.err) == (2, True)
    answer = gpu_studio("cluster", "examine", plan_file, "--on-nodes", "--set", WORKERS)
    assert (answer.code, "cluster.start" in answer.err) == (2, True)


def test_that_a_machine_without_slurm_is_a_finding(gpu_studio, plan_file, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    slurm = ("--set", WORKERS, "cluster.start=slurm")
    answer = gpu_studio("cluster", "examine", plan_file, *slurm)
    assert (answer.code, "no command sbatch" in answer.out) == (1, True)


SLURM = ("--set", WORKERS, TRUSTED, "cluster.start=slurm")


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands that answer as Slurm's; the file gets a line for each job that is submitted.

    `squeue` tells what is in the file `queue` beside it.
    """
    submitted = tmp_path / "submitted"
    texts = {
        "sbatch": f'[ "$1" = --test-only ] && exit; echo "$PWD" >> {submitted}; echo 7',
        "squeue": f"cat {tmp_path}/queue",
        "sinfo": 'echo "debug* infinite"',
    }
    (tmp_path / "queue").touch()
    for name, text in texts.items():
        command = tmp_path / "bin" / name
        command.parent.mkdir(exist_ok=True)
        command.write_text(f"#!/bin/sh\n{text}\n")
        command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return submitted


def test_that_code_that_may_not_run_is_not_given_to_slurm(gpu_studio, plan_file, jobs, tmp_path):
    own = tmp_path / "own_net.py"
    own.write_text("def net():\n    import keras\n    return keras.Sequential()\n")
    model = [f"model.{each}" for each in ("name=", "options={}", f"python={own}:net")]
    answer = gpu_studio("cluster", "submit", plan_file, "--detach", *SLURM, *model)
    assert (answer.code, "gpu-studio code allow" in answer.err) == (2, True)
    assert not jobs.exists()


def test_that_two_jobs_never_work_in_the_same_folder(gpu_studio, plan_file, jobs):
    submit = ("cluster", "submit", plan_file, "--detach", *SLURM)
    assert gpu_studio(*submit).out == "7\n"
    (folder,) = jobs.read_text().splitlines()
    jobs.with_name("queue").write_text(f"6 /elsewhere\n7 {folder}\n")
    answer = gpu_studio(*submit)
    assert (answer.code, "Job 7 works in" in answer.err) == (2, True)
    assert jobs.read_text().splitlines() == [folder]


def test_that_shell_of_the_plan_is_shown_whole_and_given_to_slurm_only_once_allowed(
    gpu_studio, plan_file, jobs
):
    line = f"module load cuda; {'true; ' * 40}rm -rf somewhere"
    own = f"cluster.slurm={{ setup = ['{line}'], flags = ['--prolog=/tmp/mine'] }}"
    for command in (("submit", plan_file, "--detach"), ("examine", plan_file, "--on-nodes")):
        answer = gpu_studio("cluster", *command, *SLURM, own)
        assert (answer.code, "--allow-shell" in answer.err) == (2, True)
        told = " ".join(answer.err.split())
        assert "rm -rf somewhere" in told
        assert "--prolog=/tmp/mine" in told
        assert not jobs.exists()
    answer = gpu_studio("cluster", "submit", plan_file, "--detach", "--allow-shell", *SLURM, own)
    assert answer.out == "7\n"
