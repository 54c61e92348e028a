"""The whole story with a real pointer and real keys.

Open, train, zoom, pause, resume, stop, compare, report.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from made_runs import Script, make_run
from patience import PATIENCE_S
from read_page import Page
from training_runs import resting, small_plan, until
from x_desk import Desk, Facts
from x_program import started

from gpu_studio.contract import events, lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import save
from gpu_studio.runs import catalogue
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.state import is_live

PROGRAM = Path(__file__).parents[1] / "support" / "story_window.py"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """A plan that trains until it is stopped."""
    path = tmp_path / "story.plan.toml"
    devices = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
    save(
        small_plan(
            "name=story", devices, "training.epochs=100000", "distribution.strategy=mirrored"
        ),
        path,
    )
    return path


@pytest.fixture
def before(runs: Path) -> RunDirectory:
    """A run that has ended already."""
    return make_run(
        runs, Script(name="before", ending="completed", epochs=3, trained=3, steps=20, devices=1)
    )


@pytest.fixture
def desk(
    x_environment: dict[str, str], plan_file: Path, before: RunDirectory, runs: Path
) -> Iterator[Desk]:
    """The window with the plan open and settings that are nobody's."""
    folder = plan_file.parent
    own = {
        "GPU_STUDIO_SETTINGS": str(folder / "window.ini"),
        "FAKE_ASKER_STARTS": str(folder / "questions"),
        TRAINER_VARIABLE: shlex.join(resting()),
    }
    environment = {**x_environment, **own, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}
    with started(
        [sys.executable, str(PROGRAM), "--runs-dir", str(runs), str(plan_file)], environment
    ) as program:
        yield Desk(program, environment)
    assert program.returncode == 0


@pytest.mark.slow
def test_that_the_whole_story_is_done_by_pointer_and_keys(desk, before, runs, tmp_path) -> None:
    run, trainer = train(desk, before, runs)
    zoom(desk)
    pause_and_resume(desk, run)
    stop(desk, run, trainer)
    compare(desk)
    report(desk, tmp_path / "story.html", [run, before])


def train(desk: Desk, before: RunDirectory, runs: Path) -> tuple[RunDirectory, psutil.Process]:
    """Press Train, and watch the run begin."""
    assert desk.sees(lambda facts: "Train" in facts["parts"])["page"] == "plan"
    desk.enter()
    desk.settle()
    desk.click("Train")
    desk.sees(
        lambda facts: facts["page"] == "train" and facts["state"] == "running" and facts["step"] > 0
    )
    desk.sees(lambda facts: re.fullmatch(r"#\d+ story", facts["run"]))
    (run,) = (each for each in catalogue.directories(runs) if each != before)
    holder = lock.holder(run.lock_file)
    assert holder is not None
    return run, psutil.Process(holder.pid)


def zoom(desk: Desk) -> None:
    """Brush the loss, which narrows every plot alike; a double click shows all again."""
    desk.sees(lambda facts: len(facts["windows"]) == 3 and shared(facts))
    start, end = shared(desk.facts)
    assert start == 0
    desk.brush("loss")
    desk.sees(lambda facts: shared(facts) and shared(facts)[0] > 0)
    # The axis goes on growing with the run until the brush is let go: only its beginning tells of
    # the zoom.
    first, last = shared(desk.facts)
    assert 0 < first < last
    desk.hands("click", "--repeat", 2, "--delay", 40, 1)
    desk.sees(lambda facts: shared(facts) and shared(facts)[0] == 0 and shared(facts)[1] >= end)


def shared(facts: Facts) -> tuple[float, ...]:
    """From where to where all plots are drawn; nothing while they are not drawn alike."""
    first, *others = map(tuple, facts["windows"].values())
    return first if all(other == first for other in others) else ()


def pause_and_resume(desk: Desk, run: RunDirectory) -> None:
    """Ctrl+P pauses the run; Ctrl+P lets it go on from there."""
    desk.hands("key", "ctrl+p")
    paused = desk.sees(lambda facts: facts["state"] == "paused" and "Resume" in facts["parts"])[
        "step"
    ]
    assert [event.state for event in events_of(run) if isinstance(event, events.StateChanged)][
        -1
    ] == "paused"
    desk.hands("key", "ctrl+p")
    desk.sees(lambda facts: facts["state"] == "running" and facts["step"] > paused)


def stop(desk: Desk, run: RunDirectory, trainer: psutil.Process) -> None:
    """Press Stop: a checkpoint of the last step is written, and the trainer is gone."""
    desk.click("Stop")
    step = desk.sees(lambda facts: facts["state"] == "stopped")["step"]
    told = list(events_of(run))
    (end,) = (event for event in told if isinstance(event, events.Finished))
    assert (end.reason, end.step) == ("stopped", step)
    last = [event for event in told if isinstance(event, events.Checkpoint)][-1]
    assert last.step == step
    with np.load(run.checkpoints / last.name / "weights.npz", allow_pickle=False) as weights:
        assert all(
            np.isfinite(weights[name]).all() for name in weights.files if name.startswith("model/")
        )
    until(lambda: not is_live(run) and not alive(trainer), PATIENCE_S)
    assert not is_live(run)
    assert not alive(trainer)


def alive(process: psutil.Process) -> bool:
    return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE


def compare(desk: Desk) -> None:
    """Choose both runs on the Runs page, and see their curves over each other and what differs."""
    desk.hands("key", "ctrl+4")
    desk.sees(
        lambda facts: facts["page"] == "runs" and sorted(facts["rows"]) == ["before", "story"]
    )
    desk.click("before")
    desk.click("story", "ctrl")
    desk.click("Compare 2")
    facts = desk.sees(
        lambda facts: (
            "Show all runs" in facts["parts"] and facts["curves"] == 2 and facts["differs"]
        )
    )
    assert facts["chosen"] == ["before", "story"]
    assert {"training.epochs", "model.options.hidden"} <= set(facts["differs"])


def report(desk: Desk, path: Path, about: list[RunDirectory]) -> None:
    """Ctrl+Shift+H writes a page about both runs to a file whose name is typed."""
    desk.hands("key", "ctrl+shift+h")
    desk.sees(lambda facts: facts["dialog"] == "Report")
    desk.hands("key", "ctrl+a", "type", "--delay", 1, str(path))
    desk.settle()
    desk.hands("key", "Return")
    desk.settle()
    if desk.facts["dialog"] == "Report":  # names were offered meanwhile, and Return closed these
        desk.hands("key", "Return")
    desk.sees(lambda facts: facts["notice"] == f"Written: {path}")
    page = Page(path.read_text(encoding="utf-8"))
    assert (page.problems, page.foreign) == ([], [])
    assert all(run.id in page.words for run in about)
    assert all(word in page.words for word in ("story", "before", "training.epochs"))
