from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest
from made_runs import Script, make_run

from gpu_studio.cli import main
from gpu_studio.plan import Machine, load, save
from gpu_studio.runs.lessons import lessons


@pytest.fixture
def done(monkeypatch, tmp_path) -> list[list[str]]:
    """What the lesson has called; what is trained ends at once, as a run of the plan's name."""
    called: list[list[str]] = []

    def call(command: list[str], **_: object) -> None:
        words = command[command.index("--runs-dir") + 2 :]
        called.append(words)
        if words[0] == "train":
            plan = load(Path(words[1]))
            script = Script(name=plan.name, ending="completed", epochs=1, trained=1)
            save(plan, make_run(tmp_path / "runs", script).plan_file)

    monkeypatch.setattr(subprocess, "run", call)
    machine = "gpu_studio.cli.given_plan.this_machine"
    monkeypatch.setattr(machine, lambda **_: Machine((), 4, 16_000))
    monkeypatch.setattr("gpu_studio.cli.lesson.time.time", lambda: 0.0)
    return called


def read(tmp_path: Path, *words: str) -> int:
    return main(["--runs-dir", str(tmp_path / "runs"), "lesson", *words])


def test_that_lessons_are_listed_and_others_refused(capsys, tmp_path):
    assert read(tmp_path) == 0
    told = capsys.readouterr().out
    assert all(lesson.title in told for lesson in lessons().values())
    assert read(tmp_path, "9") == 2
    assert "1, 2, 3" in capsys.readouterr().err


def test_that_the_tutorials_placement_is_proved_in_the_terminal(capsys, tmp_path, done):
    folder = tmp_path / "here"
    assert read(tmp_path, "3", "--yes", "--folder", str(folder)) == 0
    plan = str(folder / "lesson.plan.toml")
    assert done == [
        ["train", plan, "--allow-code"],
        ["runs", "log", "latest", "--tail", "40"],
        ["train", plan, "--allow-code"],
        ["runs", "placement", "latest"],
    ]
    assert load(Path(plan)).model.python == "tf_device.py:build"
    assert "tf.device(" in (folder / "tf_device.py").read_text()
    assert "Lesson 3 is done" in capsys.readouterr().err
    assert read(tmp_path, "3", "--yes", "--folder", str(folder)) == 2
    assert "is there already" in capsys.readouterr().err


def test_that_own_code_is_named_by_its_copy(tmp_path, done):
    folder = tmp_path / "here"
    assert read(tmp_path, "7", "--yes", "--folder", str(folder)) == 0
    plan = load(folder / "lesson.plan.toml")
    assert (plan.model.python, plan.model.options) == ("own_model.py:build", {"filters": 16})


def test_that_a_step_that_cannot_be_done_is_said_and_ends_it(capsys, tmp_path, done):
    assert read(tmp_path, "5", "--yes", "--folder", str(tmp_path / "here")) == 2
    assert "this step waits for a card, or practice cards" in capsys.readouterr().err
    assert done == []


def test_that_one_is_asked_at_each_step_and_may_skip_or_leave(monkeypatch, tmp_path, done):
    answers = iter(["", "s", "q"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    assert read(tmp_path, "1", "--folder", str(tmp_path / "here")) == 0
    assert [words[0] for words in done] == ["check"]
    assert list(answers) == []


def test_that_who_types_nothing_more_leaves_and_the_folder_is_his_alone(
    monkeypatch, tmp_path, done
):
    def ended(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", ended)
    folder = tmp_path / "new" / "here"
    assert read(tmp_path, "1", "--folder", str(folder)) == 0
    assert done == []
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent)] == [0o700] * 2


def test_that_without_a_terminal_the_steps_are_written_out(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read(tmp_path, "4") == 0
    told = capsys.readouterr().out
    assert "## 2 of 5: Two stages" in told
    assert "$ gpu-studio train lesson.plan.toml" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", range(1, 9))
def test_that_a_lesson_in_the_terminal_speaks_of_nothing_that_only_the_window_has(
    capsys, tmp_path, number
):
    assert read(tmp_path, str(number)) == 0
    told = capsys.readouterr().out
    for words in ("window", " page", " tab ", "*What will happen*", "Press ", "Choose ", "Drag "):
        assert words not in told, words


def test_that_the_runs_of_the_lesson_are_compared_by_their_names(tmp_path, done):
    assert read(tmp_path, "7", "--yes", "--folder", str(tmp_path / "here")) == 0
    runs = {path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()}
    ((before, newest),) = [words[2:] for words in done if words[:2] == ["runs", "compare"]]
    assert len(runs) == 2
    assert before in runs
    assert newest == "latest"
