"""The whole window, a process of its own on a real X server.

Runs are found, compared, tagged and reported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from made_runs import Script, make_run
from x_program import Program, facts_with, started, told, xdotool

from gpu_studio.runs.labels import read_labels

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "support" / "runs_window.py"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def made(runs: Path):
    """Three runs that have ended."""
    script = {"ending": "completed", "epochs": 3, "trained": 3, "steps": 20, "devices": 1}
    return {
        name: make_run(runs, Script(name=name, seed=seed, **script))
        for seed, name in enumerate(["one", "two", "blue"])
    }


@pytest.fixture
def environment(x_environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Settings that are nobody's, and a home to save in."""
    own = {"GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"), "HOME": str(tmp_path)}
    return {**x_environment, **own, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}


@pytest.fixture
def program(environment: dict[str, str], made, runs: Path) -> Iterator[Program]:
    with started([sys.executable, str(PROGRAM), "--runs-dir", str(runs)], environment) as child:
        yield child


@pytest.mark.whole("tests/ui/runs/test_runs_page_comparing.py")
def test_that_two_runs_are_found_compared_zoomed_tagged_and_reported(
    program, environment, made, tmp_path
) -> None:
    point = partial(xdotool, environment)

    def at(place: list[int]) -> tuple[int, int]:
        left, top, width, height = place
        return left + min(width // 2, 60), top + height // 2

    def click(facts: dict[str, Any], name: str, *keys: str) -> None:
        held = (("keydown", key) for key in keys)
        let_go = (("keyup", key) for key in keys)
        point("mousemove", *at(facts["parts"][name]), *chain(*held), "click", 1, *chain(*let_go))

    facts_with(program, "parts", lambda parts: {"one", "two", "blue", "Report"} <= set(parts))
    window = point(
        "search", "--sync", "--onlyvisible", "--pid", program.pid, "--name", "GPU Studio"
    ).split()[-1]
    point("windowfocus", "--sync", window)
    point("key", "ctrl+f")
    point("type", "--", "-blue")
    facts = facts_with(program, "rows", lambda rows: len(rows) == 2)
    assert sorted(facts["rows"]) == ["one", "two"]
    point("key", "Return")
    click(facts, "one")
    click(facts, "two", "ctrl")
    facts = facts_with(program, "parts", lambda parts: "Compare 2" in parts)
    assert facts["chosen"] == ["one", "two"]
    click(facts, "Compare 2")
    facts = facts_with(
        program, "parts", lambda parts: "one" not in parts and "Show all runs" in parts
    )
    while facts["curves"] < 2:
        facts = facts_with(program, "curves", lambda curves: curves == 2)
    assert "training.batch_size" not in facts["differs"]
    left, top, width, height = facts["parts"]["plot"]
    point("mousemove", left + width // 2, top + height // 2, "click", 4)
    assert told(program, "zoomed", lambda zoomed: zoomed)
    point("key", "ctrl+shift+h")
    told(program, "dialog", lambda dialog: dialog == "Report")
    point("key", "ctrl+a")
    point("type", "out.html")
    point("key", "Return")
    facts = facts_with(program, "notice", lambda notice: "Written" in notice)
    assert "out.html" in facts["notice"]
    report = (tmp_path / "out.html").read_text()
    assert made["one"].id in report
    assert made["blue"].id not in report
    click(facts, "Show all runs")
    facts_with(program, "parts", lambda parts: "one" in parts)
    point("key", "t")
    told(program, "dialog", lambda dialog: dialog == "Tags")
    point("type", "best")
    point("key", "Return")
    assert told(program, "tags", lambda tags: bool(tags)) == ["best"]
    assert [read_labels(made[name]).tags for name in ("one", "two", "blue")] == [
        ("best",),
        ("best",),
        (),
    ]
