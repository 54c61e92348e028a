"""`make`, with programs that write down how they were called in place of the real ones."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
SHORT = " -m not whole"
RECORDER = '#!/bin/sh\necho "$*" >> "{calls}"\n{then}\n'


@pytest.fixture
def tree(tmp_path):
    """A tree with the real Makefile and .ci/run, and a Python that only writes down its words."""
    for file in ("Makefile", ".ci/run"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    calls = tmp_path / "calls.txt"
    put(tmp_path / ".venv/bin/python", RECORDER.format(calls=calls, then="echo 3 passed in 0.1s"))
    put(
        tmp_path / "recorder",
        RECORDER.format(calls=calls, then='[ ! -e "$(dirname "$0")/broken" ]'),
    )
    put(tmp_path / "packaging/setup/find-python.sh", f"#!/bin/sh\necho {tmp_path}/recorder\n")
    return tmp_path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(tree: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY", "CI")
    }
    clean = {
        name: value
        for name, value in clean.items()
        if not name.startswith(("MAKE", "MFLAGS", "ARGS"))
    }
    return subprocess.run(
        words,
        cwd=tree,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def calls(tree: Path) -> list[str]:
    return (tree / "calls.txt").read_text().splitlines()


def test_that_make_alone_lists_what_there_is(tree):
    said = run(tree, "make").stdout
    for target in (
        "run",
        "test",
        "whole",
        "quick",
        "check",
        "bench",
        "setup",
        "dist",
        "wheel",
        "deb",
        "clean",
    ):
        assert f"make {target} " in said


def test_that_run_without_a_display_trains_in_the_terminal(tree):
    run(tree, "make", "run", "ARGS=--set training.epochs=1")
    assert calls(tree) == [
        "packaging/setup/prepare.py run",
        "-m gpu_studio train --set training.epochs=1",
    ]


@pytest.mark.parametrize("variable", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_that_run_with_a_display_opens_the_window(tree, variable):
    run(tree, "make", "run", **{variable: ":7"})
    assert calls(tree) == ["packaging/setup/prepare.py run", "-m gpu_studio"]


def test_that_nothing_starts_when_the_set_up_fails(tree):
    (tree / "broken").touch()
    assert run(tree, "make", "run").returncode != 0
    assert calls(tree) == ["packaging/setup/prepare.py run"]


def test_that_test_checks_the_source_and_tests_every_rule(tree):
    done = run(tree, "make", "test")
    assert done.returncode == 0
    first, *between, last = calls(tree)
    assert first == "packaging/setup/prepare.py test"
    checks = [call.split()[1] for call in between if "-m " in call and "pytest" not in call]
    assert checks == ["ruff", "ruff", "mypy", "mypy"]
    assert "tests/support/fake_cards.py" in between
    assert last.startswith("-m pytest --numprocesses=")
    assert "not slow" not in last


def test_that_whole_runs_what_test_does_and_long_proofs_and_trains_what_was_proven(tree):
    told = RECORDER.format(
        calls=tree / "calls.txt", then=f'echo "$GPU_STUDIO_WHOLE_PARITY" >> {tree}/whole'
    )
    put(tree / ".venv/bin/python", told)
    assert run(tree, "make", "test", GPU_STUDIO_WHOLE_PARITY="").returncode == 0
    without = calls(tree)
    assert set((tree / "whole").read_text().split()) == set()
    assert run(tree, "make", "whole").returncode == 0
    at_length = [call.replace(SHORT, "") for call in without]
    assert at_length != without
    assert sorted(calls(tree)) == sorted(without + at_length)
    assert set((tree / "whole").read_text().split()) == {"1"}


def test_that_test_leaves_long_proofs_to_whole_but_where_they_are_named(tree):
    for named, left in (("-x", True), ("-x tests/e2e", False)):
        run(tree, "make", "test", f"ARGS={named}", GPU_STUDIO_WHOLE_PARITY="")
        assert (SHORT in calls(tree)[-1]) is left


def test_that_the_tests_are_compiled_beside_the_checks_and_before_they_run(tree):
    run(tree, "make", "test")
    (compiled,) = [call for call in calls(tree) if "--collect-only" in call]
    assert compiled.startswith("-m pytest ")
    assert compiled != calls(tree)[-1]


def test_that_no_test_runs_of_a_source_that_a_check_refuses(tree):
    refusing = 'case "$*" in *mypy*) exit 1 ;; esac'
    python = RECORDER.format(calls=tree / "calls.txt", then=refusing)
    put(tree / ".venv/bin/python", python)
    assert run(tree, "make", "test").returncode != 0
    assert [call for call in calls(tree) if "--numprocesses" in call] == []


def test_that_quick_leaves_out_the_slow_and_the_window(tree):
    run(tree, "make", "quick", "ARGS=-x")
    assert calls(tree)[-1].endswith(
        " -m not slow and not window and not processes and not whole --ignore=tests/ui -x"
    )


def test_that_quick_runs_a_part_of_the_window_that_is_named(tree):
    run(tree, "make", "quick", "ARGS=-x tests/ui/plan")
    assert calls(tree)[-1].endswith(
        " -m not slow and not window and not processes and not whole -x tests/ui/plan"
    )


def test_that_continuous_integration_runs_from_anywhere_and_ends_with_the_tests_last_word(
    tree, tmp_path_factory
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = run(elsewhere, str(tree / ".ci/run"))
    assert done.returncode == 0
    assert calls(tree)[-1].startswith("-m pytest ")
    assert done.stdout.splitlines()[-1] == "3 passed in 0.1s"


def test_that_continuous_integration_fails_when_a_test_does(tree):
    put(tree / ".venv/bin/python", "#!/bin/sh\nexit 1\n")
    assert run(tree, ".ci/run").returncode != 0
