"""`code`: what may run, by the command line.

And the other commands that ask for the user's word on a plan's code.
"""

from __future__ import annotations

import errno
import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import Script, make_run, tell
from real_runs import PLAN

from gpu_studio.cli import given_plan
from gpu_studio.contract import consent
from gpu_studio.contract.consent import Standing
from gpu_studio.contract.events import Code
from gpu_studio.plan import ModelSettings, load, save
from gpu_studio.runs.catalogue import directories

CODE = b"def build(): ...\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models.py"
    path.write_bytes(CODE)
    return path


@pytest.fixture
def plan_with_code(tmp_path: Path, file: Path) -> Path:
    path = tmp_path / "own.plan.toml"
    save(replace(PLAN, name="own", model=ModelSettings(python="models.py:build")), path)
    return path


def of(path: Path) -> Standing:
    return consent.standing(path, path.read_bytes())


def test_that_a_file_is_allowed_as_it_is_and_no_longer(gpu_studio, file) -> None:
    answer = gpu_studio("code", "allow", file)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith(f"{file}: may run as it is now (17 bytes, changed 20")
    assert "do whatever you may" in answer.err
    assert of(file) is Standing.ALLOWED
    answer = gpu_studio("code", "forbid", file)
    assert (answer.code, answer.err) == (0, f"{file}: may run no longer.\n")
    assert of(file) is Standing.NEW


def test_that_a_folder_is_allowed_with_all_in_it(gpu_studio, file) -> None:
    answer = gpu_studio("code", "allow", file.parent)
    assert (
        answer.err
        == f"{file.parent}: all Python files in and below it may run, and do whatever you may.\n"
    )
    assert of(file) is Standing.ALLOWED
    refused = gpu_studio("code", "forbid", file)
    assert refused.code == 2
    assert (
        f"may still run, because its folder may: gpu-studio code forbid {file.parent}"
        in refused.err
    )


def test_that_a_folder_in_which_others_put_files_is_refused(gpu_studio, file) -> None:
    refused = gpu_studio("code", "allow", file, "/")
    assert refused.code == 2
    assert "/ cannot be allowed as a whole: all files of its user are below it." in refused.err
    assert of(file) is Standing.NEW


def test_that_what_is_allowed_is_listed_with_what_became_of_it(gpu_studio, file, tmp_path) -> None:
    assert "No Python code of your own may run" in gpu_studio("code", "list").err
    gone = tmp_path / "gone.py"
    gone.write_bytes(CODE)
    folder = tmp_path / "mine"
    folder.mkdir()
    changed = tmp_path / "changed.py"
    changed.write_bytes(CODE)
    assert gpu_studio("code", "allow", file, gone, changed, folder).code == 0
    gone.unlink()
    changed.write_bytes(b"other")
    lines = [line.split(maxsplit=2) for line in gpu_studio("code", "list").out.splitlines()]
    assert lines == [
        ["PATH", "KIND", "STATE"],
        [str(changed), "file", "has changed: no longer"],
        [str(gone), "file", "is gone"],
        [str(file), "file", "may run"],
        [str(folder), "folder", "all in it may run"],
    ]
    document = gpu_studio("code", "list", "--json").document
    assert document["file"] == str(consent.allowances_file())
    assert document["allowed"][2] == {
        "path": str(file),
        "kind": "file",
        "sha256": consent.digest(CODE),
        "may_run": True,
    }
    assert [each["may_run"] for each in document["allowed"]] == [False, False, True, True]


def test_that_allowances_with_impossible_names_are_listed_as_gone(gpu_studio, file) -> None:
    consent.allow_file(file, CODE)
    kept = consent.allowances_file()
    kept.write_text(kept.read_text().replace(file.name, "a\\u0000b.py"))
    answer = gpu_studio("code", "list")
    assert answer.code == 0
    assert answer.out.splitlines()[1].endswith("is gone")


def test_that_nothing_is_allowed_where_one_of_several_cannot_be(gpu_studio, file, tmp_path) -> None:
    (tmp_path / "note.txt").touch()
    for other, why in (
        ("note.txt", "is no Python file"),
        ("model.py", f"did you mean {file}?"),
        ("x.py", "no file"),
    ):
        refused = gpu_studio("code", "allow", file, tmp_path / other)
        assert refused.code == 2
        assert why in refused.err
    assert of(file) is Standing.NEW


def test_that_what_was_never_allowed_cannot_be_forbidden(gpu_studio, file) -> None:
    refused = gpu_studio("code", "forbid", file)
    assert (refused.code, refused.err) == (
        2,
        f"gpu-studio: {file} was not allowed. See what is with: gpu-studio code list\n",
    )


def test_that_damaged_allowances_are_told(gpu_studio, file) -> None:
    gpu_studio("code", "allow", file)
    consent.allowances_file().write_text("{")
    for words in (("list",), ("list", "--json"), ("allow", file), ("forbid", file)):
        refused = gpu_studio("code", *words)
        assert refused.code == 2
        assert "no Python file is allowed: remove it." in refused.err


@pytest.mark.parametrize("command", ["train", "place", "model", "check", "queue add"])
def test_that_a_plan_with_code_that_is_not_allowed_is_refused_with_what_to_do(
    gpu_studio, plan_with_code, machine, trainer, runs_dir, file, command
) -> None:
    refused = gpu_studio(*command.split(), plan_with_code)
    assert refused.code == 2
    assert f"read it, then allow it (gpu-studio code allow {file})." in refused.err
    assert not directories(runs_dir)
    assert of(file) is Standing.NEW


def test_that_a_run_with_code_that_has_changed_is_not_resumed_without_a_word(
    gpu_studio, plan_with_code, machine, trainer, runs_dir, file
) -> None:
    trainer("--checkpoint-every", "2")
    gpu_studio("train", plan_with_code, "--allow-code")
    file.write_bytes(CODE + b"#")
    refused = gpu_studio("resume", "latest", "--set", "training.epochs=3")
    assert refused.code == 2
    assert "models.py has changed since it was allowed" in refused.err
    assert len(directories(runs_dir)) == 1
    assert gpu_studio("resume", "latest", "--set", "training.epochs=3", "--allow-code").code == 0
    assert of(file) is Standing.ALLOWED


@pytest.mark.parametrize("words", [("evaluate",), ("save-model", "mine.keras")])
def test_that_a_checkpoint_s_question_is_not_asked_of_code_that_is_not_allowed(
    gpu_studio, runs_dir, file, tmp_path, words
) -> None:
    run = make_run(runs_dir, Script(trained=3, ending="stopped"))
    save(replace(load(run.plan_file), model=ModelSettings(python=f"{file}:build")), run.plan_file)
    refused = gpu_studio("runs", words[0], "latest", *(tmp_path / word for word in words[1:]))
    assert refused.code == 2
    assert (
        f"models.py is not allowed yet: read first, then allow (gpu-studio code allow {file})."
        in refused.err
    )


def test_that_code_is_allowed_as_it_is_now_by_the_word_on_the_command_line(
    gpu_studio, plan_with_code, machine, trainer, runs_dir, file
) -> None:
    answer = gpu_studio("train", plan_with_code, "--allow-code")
    assert answer.code == 0, answer.err
    assert answer.err.startswith(f"{file} is allowed, as it is now: 17 bytes, changed 20")
    assert len(directories(runs_dir)) == 1
    assert of(file) is Standing.ALLOWED
    assert gpu_studio("train", plan_with_code).code == 0


def test_that_the_file_that_cannot_be_written_is_named_where_code_is_not_allowed_for_it(
    gpu_studio, plan_with_code, machine, monkeypatch, file
) -> None:
    def refuse(*_given: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(given_plan, "allow_file", refuse)
    refused = gpu_studio("train", plan_with_code, "--allow-code")
    assert refused.code == 2
    kept = consent.allowances_file()
    assert f"{file} is not allowed, as {kept} cannot be written: Read-only" in refused.err


def test_that_a_run_shows_the_code_that_made_it_and_what_became_of_that(
    gpu_studio, runs_dir, file
) -> None:
    run = make_run(runs_dir, Script(trained=1, ending="stopped"))
    tell(run, Code(part="model", file=str(file), function="build", sha256=consent.digest(CODE)))
    file.write_bytes(b"other")
    shown = gpu_studio("runs", "show", "latest").out
    assert (
        f"code of the model  build in models.py, SHA-256 {consent.digest(CODE)[:12]}, "
        "which has changed since" in shown
    )
    assert gpu_studio("runs", "show", run.id, "--json").document["code"] == [
        {
            "part": "model",
            "file": str(file),
            "function": "build",
            "sha256": consent.digest(CODE),
            "now": "changed",
        }
    ]


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, typed: bytes) -> Iterator[int]:
    """Stdin and stderr are a terminal, at which this has been typed.

    What reads what is shown there.
    """
    person, program = pty.openpty()
    with os.fdopen(program, "r") as reading, os.fdopen(os.dup(program), "w") as writing:
        os.write(person, typed)
        monkeypatch.setattr(sys, "stdin", reading)
        monkeypatch.setattr(sys, "stderr", writing)
        try:
            yield person
        finally:
            os.close(person)  # before the other end, which would wait for what nobody has read


@pytest.mark.parametrize(
    ("typed", "code"),
    [(b"y\n", 0), (b"Yes\n", 0), (b"n\n", 2), (b"\n", 2), (b"yesterday\n", 2), (b"\x04", 2)],
)
def test_that_a_person_at_a_terminal_is_asked(
    gpu_studio, plan_with_code, machine, trainer, file, monkeypatch, typed, code
) -> None:
    with terminal(monkeypatch, typed) as screen:
        assert gpu_studio("train", plan_with_code).code == code
        shown = ""
        while "[y/N] " not in shown:
            shown += os.read(screen, 65536).decode()
    assert (
        f"The plan runs code from {file}. Nothing of it has been run "
        "yet. It may do whatever you may." in shown
    )
    assert "Allow models.py (17 bytes, changed 20" in shown
    assert ") to run? [y/N] " in shown
    assert of(file) is (Standing.NEW if code else Standing.ALLOWED)


def test_that_a_program_is_not_asked(
    gpu_studio, plan_with_code, machine, trainer, file, monkeypatch
) -> None:
    with terminal(monkeypatch, b"y\n"):
        assert gpu_studio("train", plan_with_code, "--json").code == 2
    assert of(file) is Standing.NEW


def test_that_a_plan_is_exported_without_a_word_on_its_code(
    gpu_studio, plan_with_code, machine, file
) -> None:
    answer = gpu_studio("export", plan_with_code)
    assert "gpu-studio code allow" not in answer.err
    assert of(file) is Standing.NEW


def test_that_modules_beside_are_allowed_in_the_same_breath(
    gpu_studio, plan_with_code, machine, trainer, file
) -> None:
    helper = file.with_name("helper.py")
    helper.write_text("UNITS = 1\n")
    file.write_text("import helper\n" + file.read_text())
    refused = gpu_studio("train", plan_with_code, "--detach")
    assert refused.code == 2
    assert f"gpu-studio code allow {helper}" in refused.err
    allowed = gpu_studio("train", plan_with_code, "--detach", "--allow-code")
    assert allowed.code == 0
    assert f"{helper} is allowed, as it is now" in allowed.err


def test_that_lines_of_shell_that_are_allowed_are_listed_and_can_be_forbidden(gpu_studio) -> None:
    consent.allow_shell(["module load cuda"])
    consent.allow_shell(["module load cuda", "--account=x"])
    listed = gpu_studio("code", "list")
    assert "Lines of shell for Slurm, of 2 plans, may run" in listed.err
    assert "No Python code" not in listed.err
    assert len(gpu_studio("code", "list", "--json").document["shell"]) == 2
    assert "of 2 plans: may run no longer" in gpu_studio("code", "forbid", "--shell").err
    assert not consent.is_shell_allowed(["module load cuda"])
    assert gpu_studio("code", "list", "--json").document["shell"] == []
    assert gpu_studio("code", "forbid").code == 2
