from __future__ import annotations

from pathlib import Path

import pytest

from gpu_studio.runs.paths import runs_dir


def test_that_the_argument_goes_before_the_environment_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("GPU_STUDIO_RUNS_DIR", str(tmp_path / "variable"))
    assert runs_dir(tmp_path / "argument") == tmp_path / "argument"
    assert runs_dir() == tmp_path / "variable"


@pytest.mark.parametrize("value", [None, ""])
def test_that_without_either_runs_lie_in_the_users_data_directory(monkeypatch, tmp_path, value):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("GPU_STUDIO_RUNS_DIR")
    if value is not None:
        monkeypatch.setenv("GPU_STUDIO_RUNS_DIR", value)
    assert runs_dir() == tmp_path / "gpu-studio" / "runs"


def test_that_a_relative_directory_and_a_home_become_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert runs_dir("here") == tmp_path / "here"
    assert runs_dir("~/there") == Path.home() / "there"
