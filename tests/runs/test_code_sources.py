"""The Python files of a plan, looked at before anything is started.

There, Python, with the function, and allowed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from real_runs import PLAN

from gpu_studio.contract import consent
from gpu_studio.contract.consent import Standing
from gpu_studio.plan import (
    Data,
    ModelSettings,
    Named,
    Plan,
    PlanError,
    Problem,
    with_absolute_files,
)
from gpu_studio.runs.launch import launch
from gpu_studio.runs.sources import ConsentProblem, consent_needed, file_problems

NAMED = replace(PLAN, model=ModelSettings(python="models.py:build_model"))
CODE = "def build_model(): ...\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models.py"
    path.write_text(CODE)
    return path


def problems(plan: Plan, folder: Path) -> list[Problem]:
    return file_problems(plan, with_absolute_files(plan, folder))


def needed(plan: Plan, folder: Path) -> list[tuple[Path, Standing]]:
    return consent_needed(with_absolute_files(plan, folder))


def advice(folder: Path, plan=NAMED) -> list[str]:
    return [f"{problem.field}: {problem.advice}" for problem in problems(plan, folder)]


def test_that_a_new_file_is_asked_about_and_an_allowed_one_is_not(file: Path) -> None:
    [problem] = problems(NAMED, file.parent)
    assert isinstance(problem, ConsentProblem)
    assert (problem.path, problem.standing, problem.received) == (
        file,
        Standing.NEW,
        '"models.py:build_model"',
    )
    assert problem.advice == (
        "nothing of models.py has been run yet, and it may do whatever you may: "
        f"read it, then allow it (gpu-studio code allow {file})"
    )
    assert needed(NAMED, file.parent) == [(file, Standing.NEW)]
    consent.allow_file(file, CODE.encode())
    assert problems(NAMED, file.parent) == needed(NAMED, file.parent) == []


@pytest.mark.parametrize("character", ["\n", "\N{NO-BREAK SPACE}", "\N{RIGHT-TO-LEFT OVERRIDE}"])
def test_that_a_folder_whose_name_cannot_be_shown_is_told(tmp_path: Path, character: str) -> None:
    folder = tmp_path / f"my{character}models"
    folder.mkdir()
    (folder / "models.py").write_text(CODE)
    training = replace(PLAN.training, loss=Named("models.py:build_model"))
    found = problems(replace(NAMED, training=training), folder)
    assert [each.field for each in found] == ["model.python", "training.loss"]
    assert all("has a name with a character that cannot be shown" in each.advice for each in found)
    assert found[0].received == '"models.py:build_model"'


def test_that_a_changed_file_is_asked_about_again(file: Path) -> None:
    consent.allow_file(file, CODE.encode())
    file.write_text(CODE + "import os\n")
    [problem] = problems(NAMED, file.parent)
    assert isinstance(problem, ConsentProblem)
    assert problem.standing is Standing.CHANGED
    assert problem.advice.startswith("models.py has changed since it was allowed")
    assert needed(NAMED, file.parent) == [(file, Standing.CHANGED)]


def test_that_a_missing_file_is_told_with_the_nearest(file: Path) -> None:
    moved = file.rename(file.with_name("model.py"))
    [problem] = advice(file.parent)
    assert problem == (
        f"model.python: there is no such file: {file} is where it was "
        f"looked for; did you mean {moved}?"
    )
    assert needed(NAMED, file.parent) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def build_modl(): ...\n", "the file defines no build_model: did you mean build_modl?"),
        ("def build_model(:\n", "line 1 is no Python (invalid syntax): def build_model(:"),
    ],
)
def test_that_what_could_not_run_is_told_instead_of_asking(
    file: Path, code: str, said: str
) -> None:
    file.write_text(code)
    assert advice(file.parent) == [f"model.python: {said}"]


def test_that_a_file_that_cannot_be_read_is_told(file: Path) -> None:
    file.unlink()
    file.mkdir()
    assert advice(file.parent) == ["model.python: it cannot be read: Is a directory"]
    file.rmdir()
    file.symlink_to(file)
    assert "symbolic links" in advice(file.parent)[0]
    assert needed(NAMED, file.parent) == []


def test_that_damaged_allowances_are_told_as_what_is_in_the_way(file: Path) -> None:
    consent.allow_file(file, CODE.encode())
    consent.allowances_file().write_text("{")
    assert "allowed-code.json cannot be read" in advice(file.parent)[0]


def test_that_both_parts_of_a_plan_are_looked_at(file: Path) -> None:
    plan = replace(NAMED, data=Data(python="models.py:load"))
    assert [problem.field for problem in problems(plan, file.parent)] == [
        "model.python",
        "data.python",
    ]
    assert needed(plan, file.parent) == [(file, Standing.NEW)]


def test_that_no_run_is_made_of_code_that_is_not_allowed(file: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="gpu-studio code allow"):
        launch(with_absolute_files(NAMED, file.parent), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_that_looking_runs_nothing(file: Path) -> None:
    file.write_text(f"open({str(file.with_name('ran'))!r}, 'w')\n{CODE}")
    problems(NAMED, file.parent)
    needed(NAMED, file.parent)
    assert not file.with_name("ran").exists()


def test_that_a_module_beside_an_allowed_file_is_a_problem_of_its_own_until_it_is_allowed(
    file,
) -> None:
    consent.allow_file(file, file.read_bytes())
    helper = file.with_name("helper.py")
    helper.write_text("x = 1\n")
    file.write_text("import helper\n" + file.read_text())
    consent.allow_file(file, file.read_bytes())
    assert needed(NAMED, file.parent) == [(helper, Standing.NEW)]
    [problem] = problems(NAMED, file.parent)
    assert isinstance(problem, ConsentProblem)
    assert problem.path == helper
    consent.allow_file(helper, helper.read_bytes())
    helper.write_text("x = 2\n")
    assert needed(NAMED, file.parent) == [(helper, Standing.CHANGED)]
