"""Code that its user has not allowed never runs, whichever way leads to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import warm_python
from patience import PATIENCE_S

from gpu_studio import plan as plans
from gpu_studio.cli import main
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Failed
from gpu_studio.plan import Data, ModelSettings, Plan
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.queue import Queue
from gpu_studio.runs.state import terminal_event

pytestmark = pytest.mark.slow

CODE = "open(__file__ + '.ran', 'w').close()\ndef build(outputs): ...\ndef load(): ...\n"
COMMANDS = (
    "train",
    "train --detach",
    "check",
    "model",
    "place",
    "place --estimate",
    "export",
    "queue add",
)


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """A plan whose code is not allowed, and would leave a mark beside itself."""
    (tmp_path / "own.py").write_text(CODE)
    plan = Plan(
        name="own", model=ModelSettings(python="own.py:build"), data=Data(python="own.py:load")
    )
    plans.save(plan, tmp_path / "own.plan.toml")
    return tmp_path / "own.plan.toml"


@pytest.fixture
def has_run(tmp_path: Path) -> Callable[[], bool]:
    return (tmp_path / "own.py.ran").exists


def absolute(plan_file: Path) -> Plan:
    named = str(plan_file.with_name("own.py"))
    return replace(
        plans.load(plan_file),
        model=ModelSettings(python=f"{named}:build"),
        data=Data(python=f"{named}:load"),
    )


def test_that_no_command_runs_it(plan_file: Path, runs: Path, has_run, capsys) -> None:
    for command in COMMANDS:
        assert main(["--runs-dir", str(runs), *command.split(), str(plan_file)]) == 2, command
        assert not has_run(), command
    assert not directories(runs)
    assert not Queue(runs).entries()


def test_that_no_trainer_runs_it_that_is_started_past_all_questions(
    plan_file: Path, runs: Path, has_run
) -> None:
    run = RunDirectory.create(runs, "own")
    plans.save(absolute(plan_file), run.plan_file)
    subprocess.run(
        [*warm_python.command("gpu_studio.trainer"), str(run.path)], check=False, timeout=PATIENCE_S
    )
    failed = terminal_event(run)
    assert isinstance(failed, Failed)
    assert failed.message == "own.py has not been allowed, so nothing of it was run."
    assert not has_run()


ROWS = {"name": "rows", "task": "classes", "classes": 3, "x_shape": [8], "x_dtype": "float32"}
ABOUT: dict[str, dict[str, Any]] = {
    "data": {},
    "model": {"data": {**ROWS, "y_shape": [], "y_dtype": "int32"}},
    "times": {"devices": ["CPU:0"]},
    "evaluate": {
        "checkpoint": "/nowhere",
        "precision": "float32",
        "batch": 8,
        "host": True,
        "polite": False,
    },
}


@pytest.mark.parametrize("question", ABOUT)
def test_that_no_question_runs_it_that_is_asked_past_all_questions(
    plan_file: Path, has_run, question: str
) -> None:
    about = plan_file.with_name("about.json")
    about.write_text(json.dumps({**ABOUT[question], "plan": plans.dumps(absolute(plan_file))}))
    with about.open("rb") as file:
        asked = [
            *warm_python.command("gpu_studio.trainer.ask"),
            question,
            "--about",
            str(file.fileno()),
        ]
        done = subprocess.run(
            asked,
            pass_fds=[file.fileno()],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert "own.py has not been allowed" in done.stdout + done.stderr
    assert not has_run()


def test_that_the_window_neither_runs_it_nor_asks_about_it(
    qtbot, open_window, plan_file: Path, tmp_path: Path, has_run
) -> None:
    window = open_window(plan_file)
    window.show_page("plan")
    qtbot.waitUntil(lambda: window.facts.withheld == (plan_file.with_name("own.py"),))
    assert not window.facts.asking
    assert "own.py" in window.readiness.why_not
    assert not (tmp_path / "questions").exists()
    assert not has_run()
