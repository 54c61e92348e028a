"""What was chosen for good, from a file that anybody may have written."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE_S

from gpu_studio.common import choices as chosen_for_good
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


def test_that_what_two_windows_choose_at_once_is_both_kept(tmp_path, monkeypatch):
    """One of them read the file before the other had written it, and put its choice away."""
    # Who has just let go of the lock may have it again before the other: that has no turn.
    monkeypatch.setattr(chosen_for_good, "_PATIENCE_S", PATIENCE_S)

    def choose(window):
        choices = Choices(tmp_path)
        for number in range(20):
            choices.set(f"{window}.number", number)
            choices.set(f"{window}.n{number}", number)

    both = [threading.Thread(target=choose, args=(window,)) for window in ("one", "other")]
    for each in both:
        each.start()
    for each in both:
        each.join()
    wanted = {"number": 19} | {f"n{number}": number for number in range(20)}
    chosen = Choices(tmp_path)
    assert chosen.problem == ""
    for window in ("one", "other"):
        assert {key: chosen.get(f"{window}.{key}") for key in wanted} == wanted


def test_that_the_last_choice_counts_although_another_window_has_chosen_otherwise(tmp_path):
    one, other = Choices(tmp_path), Choices(tmp_path)
    one.set("window.theme", "dark")
    other.set("window.theme", "light")
    one.set("window.theme", "dark")
    assert Choices(tmp_path).get("window.theme") == "dark"
    other.set("window.theme", None)
    written = one.path.stat().st_ino
    other.set("window.theme", None)
    assert Choices(tmp_path).get("window.theme") is None
    assert one.path.stat().st_ino == written
