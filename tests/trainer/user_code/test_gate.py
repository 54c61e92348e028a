"""The last gate: what runs is what was allowed, whatever anybody has asked before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from written_code import Written

from gpu_studio.contract import consent
from gpu_studio.plan import Data, ModelSettings, Plan
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code import codes_of, give

MARKER = (
    "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef build(): return 1\n"
)


def refused(path: Path, base: Path = Path()) -> UserCodeError:
    with pytest.raises(UserCodeError) as caught:
        give("model", f"{path}:build", {}, {}, base)
    return caught.value


def test_that_code_that_is_not_allowed_does_not_run(written: Written) -> None:
    path = written(MARKER, allowed=False)
    error = refused(path)
    assert error.message == "own.py has not been allowed, so nothing of it was run."
    assert error.suggestions == (f"Read it, then allow it with: gpu-studio code allow {path}",)
    assert not path.with_name("ran").exists()


def test_that_code_that_has_changed_does_not_run(written: Written) -> None:
    path = written("def build(): return 1\n")
    path.write_text(MARKER)
    assert (
        refused(path).message
        == "own.py has changed since it was allowed, so nothing of it was run."
    )
    assert not path.with_name("ran").exists()


def test_that_damaged_allowances_let_nothing_run(written: Written) -> None:
    path = written(MARKER)
    consent.allowances_file().write_text("{")
    assert "allowed-code.json cannot be read" in refused(path).message
    assert not path.with_name("ran").exists()


def test_that_a_link_from_an_allowed_folder_lets_nothing_in(
    written: Written, tmp_path: Path
) -> None:
    path = written(MARKER, allowed=False)
    (tmp_path / "allowed").mkdir()
    consent.allow_folder(tmp_path / "allowed")
    (tmp_path / "allowed" / "link.py").symlink_to(path)
    assert "link.py has not been allowed" in refused(tmp_path / "allowed" / "link.py").message
    assert not path.with_name("ran").exists()


def test_that_the_bytes_that_were_allowed_run_although_the_file_changes_meanwhile(
    written: Written,
) -> None:
    path = written("def build(): return 1\n")
    plan = Plan(model=ModelSettings(python=f"{path}:build"), data=Data(python=f"{path}:build"))
    told = codes_of(plan, Path())
    path.write_text(MARKER)
    _, made = give("model", f"{path}:build", {}, {}, Path())
    assert made == 1
    assert not path.with_name("ran").exists()
    assert [(code.part, code.file, code.function) for code in told] == [
        ("model", str(path), "build"),
        ("data", str(path), "build"),
    ]
    assert {code.sha256 for code in told} == {consent.digest(b"def build(): return 1\n")}


def test_that_a_link_that_is_led_elsewhere_meanwhile_changes_nothing(
    written: Written, tmp_path: Path
) -> None:
    own, other = (
        written("def build(): return 1\n"),
        written("def build(): return 2\n", "other.py", allowed=False),
    )
    link = tmp_path / "link.py"
    link.symlink_to(own)
    assert give("model", f"{link}:build", {}, {}, Path())[1] == 1
    link.unlink()
    link.symlink_to(other)
    plan = Plan(model=ModelSettings(python=f"{link}:build"), data=Data(name="digits"))
    assert [code.file for code in codes_of(plan, Path())] == [str(own)]


def test_that_no_file_of_a_plan_runs_where_one_of_them_may_not(written: Written) -> None:
    path, other = written(MARKER), written("def load(): ...\n", "other.py", allowed=False)
    with pytest.raises(UserCodeError, match=r"other\.py has not been allowed"):
        codes_of(
            Plan(model=ModelSettings(python=f"{path}:build"), data=Data(python=f"{other}:load")),
            Path(),
        )
    assert not path.with_name("ran").exists()


def test_that_a_file_that_is_gone_is_told_with_the_nearest(
    written: Written, tmp_path: Path
) -> None:
    path = written("def build(): ...\n")
    missing = refused(tmp_path / "ownn.py")
    assert (
        missing.message == f"There is no Python file {tmp_path / 'ownn.py'}; did you mean {path}?"
    )


def test_that_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert (
        refused(tmp_path / "pipe.py").message
        == f"{tmp_path / 'pipe.py'} cannot be read: this is no file, but a pipe."
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\ndef build(:\n", "own.py: line 2 is no Python (invalid syntax): def build(:."),
        ("x = 1\0\n", "own.py: it is no Python: source code string cannot contain null bytes."),
    ],
)
def test_that_what_is_no_python_is_told_with_its_line(
    written: Written, code: str, said: str
) -> None:
    assert refused(written(code)).message == said
