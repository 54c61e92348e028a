"""`runs delete`, `restore` and `log`."""

from __future__ import annotations

import shlex


def test_that_a_deleted_run_is_taken_back(gpu_studio, ended):
    run = ended().directory
    assert gpu_studio("runs", "delete", "latest").err.endswith(
        f"gpu-studio runs restore {run.id}\n"
    )
    assert gpu_studio("runs", "list", "--json").document == []
    assert gpu_studio("runs", "restore", run.id, "--json").document["run"] == run.id
    assert len(gpu_studio("runs", "list", "--json").document) == 1
    assert gpu_studio("runs", "restore", run.id).code == 2


def test_that_the_command_that_is_told_finds_a_run_in_a_folder_of_its_own(
    gpu_studio, ended, monkeypatch, tmp_path
):
    run = ended().directory
    monkeypatch.setenv("GPU_STUDIO_RUNS_DIR", str(tmp_path / "others"))
    told = gpu_studio("runs", "delete", "latest", "--runs-dir", run.path.parent).err
    back = shlex.split(told.partition("with: ")[2])
    assert gpu_studio(*back[1:], "--json").document["run"] == run.id


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
