from __future__ import annotations

from pathlib import Path

import pytest

from gpu_studio.runs.paths import open_to_others, run_command, runs_dir


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
    assert runs_dir("~nobody-of-this-name/there") == tmp_path / "~nobody-of-this-name" / "there"


def test_that_a_command_on_a_run_names_its_folder_where_it_would_look_elsewhere(monkeypatch):
    monkeypatch.setenv("GPU_STUDIO_RUNS_DIR", "/data/runs")
    assert run_command("resume", Path("/data/runs/7-a")) == "gpu-studio resume 7-a"
    assert run_command("runs attach", Path("/data/runs/7-a"), "7") == "gpu-studio runs attach 7"
    told = run_command("runs attach", Path("/my runs/7-a"), "7")
    assert told == "gpu-studio runs attach 7 --runs-dir '/my runs'"


def test_that_a_folder_that_others_can_write_into_is_told_with_the_way_out(monkeypatch, tmp_path):
    runs = tmp_path / "my runs"
    assert open_to_others(runs) == ""
    runs.mkdir(mode=0o755)
    assert open_to_others(runs) == ""
    runs.chmod(0o1777)
    assert open_to_others(runs).endswith(f"chmod o-w '{runs}'")
    runs.chmod(0o700)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert ("belongs to another user" in open_to_others(runs)) == (runs.stat().st_uid != 0)


def test_that_nobody_is_told_to_change_the_rights_of_what_is_no_folder(tmp_path):
    file = tmp_path / "runs"
    file.touch()
    file.chmod(0o666)
    assert open_to_others(file) == open_to_others(Path("/dev/null")) == ""
