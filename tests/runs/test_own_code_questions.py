"""Questions about plans with Python code of the user's own.

When they may be asked, and when an answer holds.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from real_runs import PLAN

from gpu_studio.contract import consent
from gpu_studio.plan import AbsolutePlan, Data, ModelSettings, with_absolute_files
from gpu_studio.runs.questions import plan_question
from gpu_studio.runs.questions.plan_question import (
    NotAllowedError,
    ask_about,
    ask_times,
    data_question,
    files_of_code,
    kept_about,
    model_question,
    times_question,
)

BOTH = replace(
    PLAN, model=ModelSettings(python="models.py:build"), data=Data(python="data.py:load")
)
NOBODY = ["/nowhere/python"]
"""A command that cannot be started.

Whoever asks gets another refusal than the one that is tested for.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models.py").write_text("import helpers\ndef build(): ...\n")
    (tmp_path / "data.py").write_text("def load(): ...\n")
    (tmp_path / "helpers.py").write_text("N = 1\n")
    return tmp_path


def both(folder: Path) -> AbsolutePlan:
    return with_absolute_files(BOTH, folder)


def questions(folder: Path) -> list[object]:
    return [
        data_question(both(folder)),
        model_question(both(folder), {}),
        times_question(both(folder), []),
    ]


def test_that_nobody_is_asked_about_code_that_is_not_allowed(folder: Path) -> None:
    for asking in (
        lambda: ask_about(both(folder), command=NOBODY),
        lambda: ask_times(both(folder), [], command=NOBODY),
    ):
        with pytest.raises(NotAllowedError) as refused:
            asking()
        assert refused.value.files == tuple(
            folder / name for name in ("models.py", "data.py", "helpers.py")
        )
        assert refused.value.short == "models.py, data.py and helpers.py are not allowed yet"
        assert f"(gpu-studio code allow {' '.join(map(str, refused.value.files))})." in str(
            refused.value
        )
    assert kept_about(both(folder)) is None


def test_that_one_file_is_one(folder: Path) -> None:
    for name in ("data.py", "helpers.py"):
        consent.allow_file(folder / name, (folder / name).read_bytes())
    with pytest.raises(NotAllowedError, match=r"^models.py is not allowed yet: read first"):
        ask_about(both(folder), command=NOBODY)


@pytest.mark.parametrize("name", ["models.py", "data.py", "helpers.py", "nets/deep.py", "new.py"])
def test_that_an_answer_holds_until_a_python_file_beside_it_changes(
    folder: Path, name: str
) -> None:
    (folder / "nets").mkdir()
    (folder / "nets" / "__init__.py").touch()
    (folder / "nets" / "deep.py").touch()
    before = questions(folder)
    assert questions(folder) == before
    (folder / name).write_text("other\n")
    os.utime(folder / name, ns=(1, 1))
    assert all(was != now for was, now in zip(before, questions(folder), strict=True))


def test_that_what_is_no_python_and_what_is_no_package_changes_nothing(folder: Path) -> None:
    before = questions(folder)
    (folder / "notes.txt").touch()
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "other.py").touch()
    assert questions(folder) == before


def test_that_a_plan_without_code_depends_on_none(folder: Path) -> None:
    assert files_of_code(PLAN) == []


def test_that_a_folder_of_very_many_files_is_not_looked_through(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(plan_question, "MOST_FILES", 2)
    for number in range(5):
        (folder / f"a{number}.py").touch()
    found = files_of_code(both(folder))
    assert found[:3] == [str(folder / name) for name in ("models.py", "data.py", "helpers.py")]
    assert len(found) == 5
