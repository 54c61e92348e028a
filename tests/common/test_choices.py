"""What was chosen for good, from a file that anybody may have written."""

from __future__ import annotations

import pytest

from gpu_studio.common.choices import ENVIRONMENT, Choices, chosen_runs_folder

DEEP = "[window]\ntheme = " + "[" * 3000 + "]" * 3000
MANY_WORDS = ".".join("k" * 3000) + " = 1"


@pytest.mark.parametrize("text", [DEEP, MANY_WORDS])
def test_that_nesting_without_end_is_told_and_left_as_it_is(tmp_path, text):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    choices = Choices(tmp_path)
    assert choices.problem == (f"{file} cannot be read: nested too deeply. Defaults count instead.")
    choices.set("window.theme", "dark")
    assert choices.get("window.theme") == "dark"
    assert choices.problem.startswith(f"{file} cannot be changed: nested too deeply. ")
    assert file.read_text() == text


def test_that_a_name_that_no_folder_can_have_counts_as_not_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "window.ini"))
    (tmp_path / "settings.toml").write_text('[runs]\nfolder = "/tmp/a\\u0000b"\n')
    assert chosen_runs_folder() == ""
    (tmp_path / "settings.toml").write_text('[runs]\nfolder = "/tmp/a"\n')
    assert chosen_runs_folder() == "/tmp/a"
