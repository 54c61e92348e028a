"""The whole window, a process of its own on a real X server: a card is carved with a real pointer and real keys."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from x_program import Program, facts_with, started, told, xdotool

from gpu_studio.plan import load

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "support" / "plan_window.py"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """A plan for a card that is whole."""
    path = tmp_path / "mine.plan.toml"
    path.write_text('[model]\nname = "mlp"\n[data]\nname = "digits"\n[distribution]\nstrategy = "mirrored"\n')
    return path


@pytest.fixture
def environment(x_environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """One simulated card, and settings that are nobody's."""
    own = {"GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"), "GPU_STUDIO_SIMULATE": "1xH100"}
    return {**x_environment, **own, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}


@pytest.fixture
def program(environment: dict[str, str], plan_file: Path, tmp_path: Path) -> Iterator[Program]:
    command = [sys.executable, str(PROGRAM), "--runs-dir", str(tmp_path / "runs"), str(plan_file)]
    with started(command, environment) as child:
        yield child


def test_that_a_card_is_carved_a_divider_dragged_undone_redone_and_saved(program, environment, plan_file) -> None:
    point = partial(xdotool, environment)
    left, top, width, height = told(program, "bar")
    window = point("search", "--sync", "--onlyvisible", "--pid", program.pid, "--name", "GPU Studio").split()[-1]
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
    assert told(program, "slices") == four
    point("key", "ctrl+shift+z")
    assert told(program, "slices") == moved
    point("key", "ctrl+s")
    assert told(program, "unsaved", lambda unsaved: not unsaved) is False
    assert load(plan_file).devices.carve[0].slices_mib == tuple(moved)
