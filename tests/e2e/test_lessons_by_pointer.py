"""Two lessons done as their texts say, with a real pointer and real keys; nothing is done for one.

The first one carves and trains; the fourth drags layers to another device and cuts the batch.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm_python
from patience import PATIENCE_S
from training_runs import until
from x_desk import Desk
from x_program import started

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.questions.ask import ASKER
from gpu_studio.runs.reading.summary import summarise

PROGRAM = Path(__file__).parents[1] / "support" / "lesson_window.py"
ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_trainer")]


@pytest.fixture
def desk(x_environment: dict[str, str], runs: Path, tmp_path: Path) -> Iterator[Desk]:
    """The window on the starter plan, with settings that are nobody's."""
    environment = {
        **x_environment,
        "GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"),
        "LESSON_ASKER": json.dumps(warm_python.command(ASKER)),
        "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}",
    }
    command = [sys.executable, str(PROGRAM), "--runs-dir", str(runs)]
    with started(command, environment) as program:
        yield Desk(program, environment)
    assert program.returncode == 0


def begin(desk: Desk, number: int, title: str) -> None:
    """Take the lessons that are offered, and begin one."""
    desk.sees(lambda facts: facts["slices"] > 0)
    desk.enter()
    desk.settle()
    desk.click("Lessons…")
    desk.click(f"Begin lesson {number}, {title}")
    desk.sees(lambda facts: facts["lesson"] == number and not facts["dialog"])
    desk.enter()
    desk.settle()


def go_on(desk: Desk, step: int) -> None:
    """Press Next, or Finish, once the step was done: the lesson must have seen it by itself."""
    desk.sees(lambda facts: facts["done"] and facts["step"] == step)
    next_step(desk, step)


def next_step(desk: Desk, step: int, word: str = "Next") -> None:
    desk.click(word)
    desk.sees(lambda facts: facts["step"] == step + 1 or facts["lesson"] == 0)


def trained(runs: Path) -> RunDirectory:
    """The only run, which has finished."""
    until(lambda: [summarise(run).state for run in directories(runs)] == ["finished"], PATIENCE_S)
    return next(iter(directories(runs)))


@pytest.mark.whole("tests/ui/window/test_lessons.py")
def test_that_a_device_is_carved_in_four_and_trained_on(desk: Desk, runs: Path) -> None:
    begin(desk, 1, "Carve a card in four")
    next_step(desk, 0)
    desk.sees(lambda facts: facts["ringed"].startswith("slices of CPU"))
    desk.click("slices of CPU")
    desk.settle()
    desk.hands("key", "Down", "key", "Down", "key", "Down", "key", "Return")
    desk.sees(lambda facts: facts["slices"] == 4)
    go_on(desk, 1)
    desk.sees(lambda facts: facts["ringed"] == "strategy Mirrored")
    desk.click("strategy Mirrored")
    go_on(desk, 2)
    desk.sees(lambda facts: facts["ringed"] == "Train")
    desk.click("Train")
    go_on(desk, 3)
    assert desk.facts["page"] == "train"
    next_step(desk, 4, "Finish")
    assert desk.facts["lesson"] == 0
    (carve,) = trained(runs).load_plan().devices.carve
    assert len(carve.slices_mib) == 4


@pytest.mark.whole("tests/ui/window/test_lessons.py")
def test_that_layers_are_dragged_to_a_second_stage_and_the_batch_is_cut(
    desk: Desk, runs: Path
) -> None:
    begin(desk, 4, "Layers on devices, and micro-batches")
    desk.click("tab Layers")
    go_on(desk, 0)
    desk.sees(lambda facts: "layer dense" in facts["parts"])
    desk.settle()
    desk.click("layer dense")
    desk.hands("key", "Down", "key", "Down", "key", "shift+Down")  # the lane scrolls along
    desk.settle()
    drag(desk, "layer dense_2", "lane CPU:1")
    go_on(desk, 1)
    desk.click("tab Strategy")
    desk.settle()
    desk.click("micro-batches")
    desk.hands("key", "ctrl+a", "type", "4")
    desk.hands("key", "Return")
    go_on(desk, 2)
    desk.click("Train")
    go_on(desk, 3)
    desk.click("tab Placement")
    next_step(desk, 4, "Finish")
    plan = trained(runs).load_plan()
    assert plan.distribution.placed is not None
    assert plan.distribution.placed.micro_batches == 4
    assert dict(plan.distribution.placed.layers) == {
        **dict.fromkeys(("flatten", "dense", "dense_1"), ("CPU:0",)),
        **dict.fromkeys(("dense_2", "outputs"), ("CPU:1",)),
    }


def drag(desk: Desk, what: str, where: str) -> None:
    """Press there, go there in steps, as a hand does, and let go once the drop is announced."""
    ends = [desk.facts["parts"][name] for name in (what, where)]
    (x, y), (to_x, to_y) = ([left + w // 2, top + h // 2] for left, top, w, h in ends)
    desk.hands("mousemove", x, y, "mousedown", 1)
    for part in range(1, 6):
        desk.hands("mousemove", x + (to_x - x) * part // 5, y + (to_y - y) * part // 5)
    desk.sees(lambda facts: facts["over"] == "drop to run on CPU:1")
    desk.hands("mouseup", 1)
