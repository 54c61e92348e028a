"""Layers dragged with a real pointer under a real X server.

Then trained, and found where the lanes have them.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lane_plans import SMALL
from patience import PATIENCE_S
from training_runs import until

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Placement
from gpu_studio.placement.transfers import transfers
from gpu_studio.plan import Plan, loads
from gpu_studio.runs.reading.event_file import first_of
from gpu_studio.runs.reading.placements import headline, judged
from gpu_studio.runs.state import state_of

PROGRAM = Path(__file__).parents[1] / "support" / "lanes_window.py"
ROOT = Path(__file__).parents[2]
Reported = dict[str, Any]


@pytest.fixture
def program(x_environment: dict[str, str], runs: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A window with an mlp on the first of two logical CPUs, which trains in `runs`."""
    environment = {**x_environment, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}
    command = [sys.executable, str(PROGRAM), str(runs)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0
    ) as child:
        try:
            yield child
        finally:
            child.stdin.close()
            try:
                child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()


@pytest.fixture
def xdotool(x_environment: dict[str, str]) -> Callable[..., None]:
    """Move the real pointer and press real keys."""

    def run(*words: object) -> None:
        subprocess.run(
            ["xdotool", *map(str, words)], env=x_environment, check=True, timeout=PATIENCE_S
        )

    return run


def told(program: subprocess.Popen[bytes], wanted: Callable[[Reported], bool]) -> Reported:
    """The next thing that the program tells and that is as wanted."""
    while True:  # unbuffered: what is read ahead would not be seen by select
        ready, _, _ = select.select([program.stdout], [], [], PATIENCE_S)
        line = program.stdout.readline() if ready else b""
        assert line, "the window ended, or did not tell what was waited for"
        facts: Reported = json.loads(line)
        if wanted(facts):
            return facts


def has_steps(count: int) -> Callable[[Reported], bool]:
    return lambda facts: facts.get("steps") == count


def saying(words: str) -> Callable[[Reported], bool]:
    return lambda facts: words in (facts.get("over"), facts.get("why_not"))


def places(facts: Reported) -> dict[str, tuple[str, ...]]:
    placed = loads(facts["plan"]).distribution.placed
    assert placed is not None
    return dict(placed.layers)


def drag(xdotool: Callable[..., None], start: list[int], end: list[int]) -> None:
    """Press, and go there in steps, as a hand does; the button stays pressed."""
    xdotool("mousemove", *start, "mousedown", 1)
    for part in range(1, 6):
        xdotool("mousemove", *(a + (b - a) * part // 5 for a, b in zip(start, end, strict=True)))


def lanes(facts: Reported) -> dict[str, tuple[str, ...]]:
    """The devices of each layer, as it stands in the lanes."""
    return {layer: tuple(devices) for layer, devices in facts["layers"].items()}


@pytest.mark.whole("tests/e2e/test_story_by_pointer.py")
@pytest.mark.slow
@pytest.mark.usefixtures("warm_trainer")
def test_that_layers_dragged_on_the_screen_run_where_they_were_dropped(program, xdotool) -> None:
    at = told(program, has_steps(0))
    start = places(at)
    xdotool("mousemove", *at["layers"]["dense_1"]["CPU:0"], "click", 1)
    for name in ("dense_2", "outputs"):
        xdotool(
            "keydown",
            "ctrl",
            "mousemove",
            *at["layers"][name]["CPU:0"],
            "click",
            1,
            "keyup",
            "ctrl",
        )
    drag(xdotool, at["layers"]["dense_2"]["CPU:0"], at["lanes"]["CPU:1"])
    told(program, saying("drop to run on CPU:1"))
    xdotool("mouseup", 1)
    at = told(program, has_steps(1))
    assert places(at) == {**start, **dict.fromkeys(("dense_1", "dense_2", "outputs"), ("CPU:1",))}

    xdotool("keydown", "alt")
    drag(xdotool, at["layers"]["flatten"]["CPU:0"], at["lanes"]["CPU:1"])
    told(program, saying("The layer flatten cannot be split: a Flatten has no units of its own."))
    xdotool("mouseup", 1)
    # What is pressed while the drag before is still under way is lost.
    told(program, lambda facts: facts.get("over") == facts.get("why_not") == "")
    drag(xdotool, at["layers"]["dense"]["CPU:0"], at["lanes"]["CPU:1"])
    told(program, saying("drop to split over CPU:0 and CPU:1"))
    xdotool("mouseup", 1, "keyup", "alt")
    at = told(program, has_steps(2))
    chosen = places(at)
    assert chosen["dense"] == ("CPU:0", "CPU:1")

    xdotool("key", "ctrl+z", "key", "ctrl+z")
    assert lanes(told(program, has_steps(0))) == start
    xdotool("key", "ctrl+y", "key", "ctrl+y")
    at = told(program, has_steps(2))
    assert (lanes(at), places(at)) == (chosen, chosen)
    xdotool("key", "ctrl+Return")
    launched = RunDirectory(Path(told(program, lambda facts: "run" in facts)["run"]))
    until(lambda: state_of(launched) != "starting", PATIENCE_S)
    assert state_of(launched) == "finished"
    assert_ran_in_the_lanes(launched, lanes(at), loads(at["plan"]))


def assert_ran_in_the_lanes(
    run: RunDirectory, shown: dict[str, tuple[str, ...]], plan: Plan
) -> None:
    """Hold where TensorFlow executed each operation against the lanes of the layers."""
    placement = first_of(run, Placement)
    assert placement is not None, run.log_file.read_text(errors="replace")
    found = judged(placement)
    assert found.wrong == ()
    assert {layer.layer: layer.asked for layer in found.layers} == shown
    assert all(layer.by_plan for layer in found.layers)
    ran = {
        layer.layer: {device for each in layer.passes for device, _ in each.ran}
        for layer in found.layers
    }
    busy = {"dense", "dense_1", "dense_2", "outputs"}
    assert {name: ran[name] for name in busy} == {name: set(shown[name]) for name in busy}
    assert headline(found).startswith("All ")
    # What the tab predicts to cross is, to the byte, what TensorFlow's own graphs send.
    predicted = sum(each.bytes for each in transfers(SMALL, shown, plan.training.batch_size))
    crossed = [each.bytes for each in found.crossings if each.way in ("forward", "backward")]
    assert sum(size or 0 for size in crossed) == predicted > 0
