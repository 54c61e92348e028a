"""What the window tells the user in time, with a real pointer and keys, and two cards."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from made_runs import Script, make_run
from patience import PATIENCE_S
from training_runs import until
from x_desk import Desk
from x_program import started

from gpu_studio.hardware.source import SIMULATE

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "support" / "sound_window.py"
ROOT = Path(__file__).parents[2]
TOO_LARGE = """
[model]
name = "mlp"
[data]
name = "synthetic"
options = { samples = 100000000, shape = [1] }
[training]
batch_size = 10000000
[distribution]
strategy = "one_device"
devices = ["GPU:1"]
"""
"""A step takes more of the second card than somebody else leaves of it."""
SMALLEST = "Batch 1,048,576"
"""What makes that step fit once the other one holds all that it is going to."""
MISPLACED = """
[model]
name = "mlp"
[data]
name = "digits"
[devices]
carve = [{ device = "CPU:0", slices_mib = [0, 0] }]
[distribution]
strategy = "placed"
[distribution.placed]
layers = { one = "CPU:0", two = "CPU:0", gone = "CPU:1" }
"""
"""The model of which is told has no layer `gone`."""

OpenDesk = Callable[..., AbstractContextManager[tuple[Desk, int]]]


@pytest.fixture
def ended(runs: Path) -> None:
    """A run that was stopped, and a newer one that finished."""
    script = {"epochs": 3, "steps": 20, "devices": 1}
    make_run(runs, Script(name="halted", ending="stopped", trained=1.5, ago=100, **script))
    make_run(runs, Script(name="done", ending="completed", trained=3, **script))


@pytest.fixture
def open_desk(x_environment: dict[str, str], runs: Path, tmp_path: Path) -> OpenDesk:
    """Open the window with a plan, before which a person sits, and its process id.

    Settings last between two.
    """
    own = {
        "GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"),
        "FAKE_ASKER_STARTS": str(tmp_path / "questions"),
    }

    @contextmanager
    def opened(plan: Path, **variables: str) -> Iterator[tuple[Desk, int]]:
        environment = {
            **x_environment,
            **own,
            **variables,
            "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}",
        }
        with started(
            [sys.executable, str(PROGRAM), "--runs-dir", str(runs), str(plan)], environment
        ) as program:
            yield Desk(program, environment), program.pid

    return opened


@pytest.mark.whole("tests/ui/window/test_plan_leaving.py", "tests/ui/window/test_run_ends.py")
def test_that_what_others_hold_unsaved_edits_and_the_ends_of_runs_are_told(
    open_desk, ended, tmp_path
) -> None:
    plan = tmp_path / "large.plan.toml"
    plan.write_text(TOO_LARGE)
    with open_desk(plan, **{SIMULATE: "2xL4"}) as (desk, process):
        make_it_fit(desk)
        edit_and_kill(desk, process, tmp_path / "drafts")
    with open_desk(plan, **{SIMULATE: "2xL4"}) as (desk, _):
        find_the_edit_again(desk)
        compare_with_what_another_program_wrote(desk, plan)
        rename_the_stopped_run(desk)
        see_the_loss_of_the_finished_run(desk)


@pytest.mark.whole("tests/ui/window/test_one_list_of_problems.py")
def test_that_a_layer_that_is_not_there_keeps_from_training_until_it_is_taken_out(
    open_desk, tmp_path
) -> None:
    plan = tmp_path / "misplaced.plan.toml"
    plan.write_text(MISPLACED)
    with open_desk(plan) as (desk, _):
        facts = desk.sees(
            lambda facts: (
                "Take it out" in facts["parts"]
                and facts["heading"] == "One thing stands in the way."
                and facts["obstacles"]
            )
        )
        assert "gone is not a layer of the model" in facts["obstacles"][0]
        assert "Train" not in facts["parts"]
        desk.enter()
        desk.settle()
        desk.click("Take it out")
        desk.sees(lambda facts: "Train" in facts["parts"] and not facts["obstacles"])


def make_it_fit(desk: Desk) -> None:
    """What others hold of a card is no room.

    They are named, and a button makes the step smaller.
    """
    facts = desk.sees(lambda facts: any("A step needs" in caution for caution in facts["cautions"]))
    (caution,) = (caution for caution in facts["cautions"] if "A step needs" in caution)
    assert "on GPU:1" in caution
    assert re.search(r"GPU 1 is held by .* of grace", caution)
    desk.enter()
    # What is held of the simulated card grows for some seconds, and what fits beside it shrinks
    # with it.
    desk.sees(lambda facts: SMALLEST in facts["parts"])
    desk.click(SMALLEST)
    desk.sees(lambda facts: not any("A step needs" in caution for caution in facts["cautions"]))


def edit_and_kill(desk: Desk, process: int, drafts: Path) -> None:
    """Type another number of epochs, and kill the window once the draft is written."""
    desk.click("epochs")
    desk.hands("key", "ctrl+a", "type", "--delay", 1, "77")
    desk.sees(lambda facts: facts["epochs"] == 77)
    until(
        lambda: any("epochs = 77" in draft.read_text() for draft in drafts.glob("*.draft.json")),
        PATIENCE_S,
    )
    os.kill(process, signal.SIGKILL)


def find_the_edit_again(desk: Desk) -> None:
    """The edit is there, and it is said that it is in no file yet."""
    desk.sees(lambda facts: facts["epochs"] == 77 and "unsaved" in facts["notice"])


def compare_with_what_another_program_wrote(desk: Desk, plan_file: Path) -> None:
    """Saving replaces nothing unseen: it asks, and shows what is different."""
    desk.enter()
    desk.settle()
    theirs = plan_file.read_text().replace("[training]", '[training]\noptimizer = "sgd"')
    plan_file.write_text(theirs)
    desk.hands("key", "ctrl+s")
    desk.sees(
        lambda facts: facts["dialog"] == "Replace the changed file?" and "Compare" in facts["parts"]
    )
    desk.settle()
    desk.click("Compare")
    desk.sees(
        lambda facts: (
            not facts["dialog"]
            and {"training.epochs", "training.optimizer"} <= set(facts["changed"])
            and "was changed by another program" in facts["strip"]
        )
    )
    assert plan_file.read_text() == theirs


def rename_the_stopped_run(desk: Desk) -> None:
    """It is not called finished, it has a number, and F2 gives it a name."""
    desk.enter()  # where no window manager is, nobody gives the keys back after a dialog
    desk.hands("key", "ctrl+4")
    desk.sees(
        lambda facts: (
            facts["page"] == "runs"
            and dict(zip(facts["rows"], facts["states"], strict=True))
            == {"done": "finished", "halted": "stopped"}
        )
    )
    desk.click("halted")
    desk.sees(lambda facts: facts["chosen"] == ["halted"])
    desk.hands("key", "F2")
    desk.sees(lambda facts: facts["dialog"] == "Rename the run")
    desk.hands("key", "ctrl+a", "type", "--delay", 1, "too slow")
    desk.hands("key", "Return")
    desk.sees(
        lambda facts: not facts["dialog"] and sorted(facts["titles"]) == ["#1 too slow", "#2 done"]
    )
    desk.enter()


def see_the_loss_of_the_finished_run(desk: Desk) -> None:
    """Its loss is drawn by step, from the first to the last."""
    desk.click("done")
    desk.sees(lambda facts: facts["chosen"] == ["done"])
    desk.hands("key", "Return")
    # Its name is shown at once, its state and its curves as its events are read.
    facts = desk.sees(
        lambda facts: (
            facts["page"] == "train"
            and facts["run"] == "#2 done"
            and facts["state"] == "finished"
            and facts["windows"]
            and all(drawn and drawn[1] >= 60 for drawn in facts["windows"].values())
        )
    )
    for start, end in facts["windows"].values():
        assert start == 0
        assert end < 66
