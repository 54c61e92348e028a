from __future__ import annotations

import json
import socket

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
    answer = gpu_studio("cluster", "examine", plan_file, "--set", WORKERS, "cluster.workers=0")
    assert (answer.code, "cluster.workers" in answer.err) == (2, True)
    answer = gpu_studio("cluster", "examine", plan_file, "--on-nodes", "--set", WORKERS)
    assert (answer.code, "cluster.start" in answer.err) == (2, True)


def test_that_a_machine_without_slurm_is_a_finding(gpu_studio, plan_file, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    slurm = ("--set", WORKERS, "cluster.start=slurm")
    answer = gpu_studio("cluster", "examine", plan_file, *slurm)
    assert (answer.code, "no command sbatch" in answer.out) == (1, True)
