"""The whole window, a process of its own on a real X server.

A card is carved with a real pointer and real keys.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from training_runs import small_plan
from x_program import Program, at_rest, facts_with, started, told, xdotool

from gpu_studio.contract import events
from gpu_studio.hardware.source import SIMULATE, SIMULATED_SINCE
from gpu_studio.plan import load, save
from gpu_studio.runs import catalogue
from gpu_studio.runs.lineage import events_of

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "support" / "plan_window.py"
ROOT = Path(__file__).parents[2]
HOUR = 3600.0


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """A plan for a card that is whole."""
    path = tmp_path / "mine.plan.toml"
    path.write_text(
        '[model]\nname = "mlp"\n[data]\nname = "digits"\n[distribution]\nstrategy = "mirrored"\n'
    )
    return path


@pytest.fixture
def environment(x_environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Settings that are nobody's."""
    own = {
        "GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"),
        "FAKE_ASKER_STARTS": str(tmp_path / "questions"),
    }
    return {**x_environment, **own, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}


@contextmanager
def opened(environment: dict[str, str], plan_file: Path, runs: Path) -> Iterator[Program]:
    command = [sys.executable, str(PROGRAM), "--runs-dir", str(runs), str(plan_file)]
    with started(command, environment) as child:
        yield child


@pytest.fixture
def program(environment: dict[str, str], plan_file: Path, runs: Path) -> Iterator[Program]:
    """The window on a machine with one simulated card, on which programs take no more memory.

    While they did, the ends of the slices would go on moving to the right.
    """
    card = {SIMULATE: "1xH100", SIMULATED_SINCE: str(time.monotonic() - HOUR)}
    with opened({**environment, **card}, plan_file, runs) as child:
        yield child


@pytest.fixture
def two_cpus(tmp_path: Path) -> Path:
    """A plan that trains for a moment on the first of two logical CPUs."""
    path = tmp_path / "two.plan.toml"
    save(
        small_plan(
            'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]',
            "distribution.strategy=none",
        ),
        path,
    )
    return path


@pytest.mark.whole("tests/e2e/test_carving_by_pointer.py")
def test_that_a_card_is_carved_a_divider_dragged_undone_redone_and_saved(
    program, environment, plan_file
) -> None:
    point = partial(xdotool, environment)
    told(program, "bar")
    left, top, width, height = at_rest(program)["bar"]
    window = point(
        "search", "--sync", "--onlyvisible", "--pid", program.pid, "--name", "GPU Studio"
    ).split()[-1]
    point("windowfocus", "--sync", window)
    middle = top + height // 2

    def split_at(share: float, wanted: int) -> dict[str, Any]:
        point("mousemove", left + round(width * share), middle, "click", 1, "key", "s")
        return facts_with(program, "slices", lambda slices: len(slices) == wanted)

    split_at(0.6, 2)
    split_at(0.4, 3)
    carved = split_at(0.85, 4)
    four, end = carved["slices"], left + round(width * carved["ends"][0])
    point("mousemove", end, middle, "mousedown", 1)
    for pixels in (4, 12, 24):
        point("mousemove", end - pixels, middle)
    point("mouseup", 1)
    moved = told(program, "slices", lambda slices: slices != four)
    assert moved[0] < four[0]
    assert moved[1] > four[1]
    assert moved[2:] == four[2:]
    point("key", "ctrl+z")
    told(program, "slices", lambda slices: slices == four)
    point("key", "ctrl+shift+z")
    told(program, "slices", lambda slices: slices == moved)
    point("key", "ctrl+s")
    assert told(program, "unsaved", lambda unsaved: not unsaved) is False
    assert load(plan_file).devices.carve[0].slices_mib == tuple(moved)


def settled(program: Program, part: str) -> list[int]:
    """Where a part is once nothing moves: what is told of the model comes a little later."""
    told(program, "parts", lambda parts: part in parts)
    place: list[int] = at_rest(program)["parts"][part]
    return place


@pytest.mark.whole("tests/e2e/test_planned_run.py", "tests/ui/plan/test_strategy_tab.py")
@pytest.mark.usefixtures("warm_trainer")
def test_that_a_strategy_and_its_all_reduce_are_clicked_and_the_run_has_them(
    environment, two_cpus, runs, qtbot
) -> None:
    point = partial(xdotool, environment)

    def click(place: list[int]) -> None:
        left, top, width, height = place
        point("mousemove", left + width // 2, top + height // 2, "click", 1)

    with opened(environment, two_cpus, runs) as program:
        window = point(
            "search", "--sync", "--onlyvisible", "--pid", program.pid, "--name", "GPU Studio"
        ).split()[-1]
        point("windowfocus", "--sync", window)
        click(settled(program, "mirrored"))
        assert told(program, "strategy", lambda strategy: strategy == "mirrored")
        point("key", "alt+5")
        click(settled(program, "hierarchical_copy"))
        facts = facts_with(
            program, "all_reduce", lambda all_reduce: all_reduce == "hierarchical_copy"
        )
        assert facts["strategy"] == "mirrored"
        click(at_rest(program)["parts"]["train"])
        qtbot.waitUntil(lambda: bool(catalogue.directories(runs)))
        (run,) = catalogue.directories(runs)
        qtbot.waitUntil(
            lambda: any(isinstance(each, events.Finished) for each in events_of(run)),
        )
    (devices,) = [event for event in events_of(run) if isinstance(event, events.Devices)]
    assert devices.replicas == ["CPU:0", "CPU:1"]
    assert (devices.strategy, devices.all_reduce) == ("mirrored", "hierarchical_copy")
