"""A study with a real pointer: made of the open plan, run by real trainers, and its plan opened."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from real_runs import eventually, kill_trainers
from training_runs import small_plan
from x_desk import Desk
from x_program import started

from gpu_studio.contract import lock
from gpu_studio.lab.study import load_study
from gpu_studio.plan import save
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.state import terminal_event
from gpu_studio.runs.study_runner import RUNNER_LOCK, being_run

PROGRAM = Path(__file__).parents[1] / "support" / "studies_window.py"
ROOT = Path(__file__).parents[2]
EPOCHS = 300
"""So many that a run lasts for several looks of the window, of which there is one a second."""


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """A plan for two logical CPUs that is trained in no time."""
    path = tmp_path / "story.plan.toml"
    devices = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
    plan = small_plan("name=story", devices, "training.epochs=3", "distribution.strategy=none")
    save(plan, path)
    return path


@pytest.fixture
def desk(
    x_environment: dict[str, str], plan_file: Path, runs: Path, warm_trainer: None
) -> Iterator[Desk]:
    """The window with the plan open; what the study left running is ended."""
    folder = plan_file.parent
    own = {
        "GPU_STUDIO_SETTINGS": str(folder / "window.ini"),
        "FAKE_ASKER_STARTS": str(folder / "questions"),
    }
    environment = {**x_environment, **own, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}
    command = [sys.executable, str(PROGRAM), "--runs-dir", str(runs), str(plan_file)]
    try:
        with started(command, environment) as program:
            yield Desk(program, environment)
        assert program.returncode == 0
    finally:
        if (holder := lock.holder(runs / RUNNER_LOCK)) is not None:
            with suppress(ProcessLookupError):
                os.kill(holder.pid, signal.SIGKILL)
        kill_trainers(runs)


@pytest.mark.whole("tests/ui/window/test_studies_in_window.py")
@pytest.mark.slow
def test_that_a_scaling_study_is_made_followed_and_its_plan_opened(desk, runs, tmp_path) -> None:
    assert desk.sees(lambda facts: "Train" in facts["parts"])["page"] == "plan"
    desk.enter()
    desk.hands("key", "ctrl+5")
    desk.sees(lambda facts: facts["page"] == "lab" and "New study" in facts["parts"])
    desk.settle()
    desk.click("New study")
    desk.sees(lambda facts: "Scaling, same global batch…" in facts["parts"])
    desk.settle()
    desk.click("Scaling, same global batch…")
    desk.sees(lambda facts: facts["outlook"].startswith("2 points, 6 runs"))
    desk.settle()
    for field, text in (("repeats", "1"), ("epochs", EPOCHS)):
        desk.click(field)
        desk.hands("key", "ctrl+a", "type", "--delay", 1, text)
    desk.sees(lambda facts: facts["outlook"].startswith("2 points, 2 runs"))
    desk.settle()  # it cannot be saved for a moment after each key: the epochs change no number
    desk.click("Save and run")
    desk.sees(lambda facts: facts["study"] == "story-scaling-strong.study.toml")
    study = load_study(tmp_path / "story-scaling-strong.study.toml")
    assert (study.repeats, study.fields["training.epochs"]) == (1, EPOCHS)
    desk.sees(lambda facts: "device" in facts["shows"] and "0 of 2 runs" in facts["shows"])
    desk.sees(lambda facts: facts["done"] == 2)
    ended = [terminal_event(run) for run in directories(runs)]
    assert [each.state for each in ended if each is not None] == ["finished", "finished"]
    eventually(lambda: being_run(runs) is None, "the end of the study")
    desk.sees(
        lambda facts: (
            "device" in facts["headline"]
            and any(name.startswith("Plan with") for name in facts["parts"])
        )
    )
    desk.settle()
    (button,) = (name for name in desk.facts["parts"] if name.startswith("Plan with"))
    desk.click(button)
    facts = desk.sees(lambda facts: facts["page"] == "plan" and facts["strategy"] == "mirrored")
    assert facts["devices"] == (1 if button == "Plan with one device" else 2)
    desk.hands("key", "ctrl+z")
    desk.sees(lambda facts: facts["strategy"] == "none")
