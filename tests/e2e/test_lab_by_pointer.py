"""The whole window, a process of its own on a real X server.

A benchmark is chosen, measured on the devices of the open plan, and its heat map is read.
"""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path

import pytest
import warm_python
from made_benchmarks import SMALL
from x_program import at_rest, facts_with, started, told, xdotool

from gpu_studio.plan import Carve, DeviceSettings, Plan, save
from gpu_studio.runs.benchmarks import kept_results

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "support" / "lab_window.py"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment(x_environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Settings that are nobody's, and benchmarks that take no time."""
    return {
        **x_environment,
        "GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"),
        "BENCHMARKS": shlex.join([*warm_python.command("-c"), SMALL]),
        "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}",
    }


@pytest.mark.whole("tests/ui/lab/test_benchmarks_section.py")
def test_that_a_benchmark_is_measured_and_its_heat_map_is_read(environment, runs, tmp_path) -> None:
    plan = tmp_path / "two.plan.toml"
    save(Plan(name="Two", devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0)),))), plan)
    command = [sys.executable, str(PROGRAM), "--runs-dir", str(runs), str(plan)]
    point = partial(xdotool, environment)

    def click(place: list[int]) -> None:
        left, top, width, height = place
        point("mousemove", left + min(width // 2, 60), top + height // 2, "click", 1)

    with started(command, environment) as program:
        facts_with(program, "page", bool)
        window = point(
            "search", "--sync", "--onlyvisible", "--pid", program.pid, "--name", "GPU Studio"
        ).split()[-1]
        point("windowfocus", "--sync", window)
        point("key", "ctrl+5")
        facts_with(program, "parts", lambda parts: "Copies" in parts)
        click(at_rest(program)["parts"]["Copies"])
        told(program, "chosen", lambda chosen: chosen == "copies")
        facts = at_rest(program)
        assert facts["figure"] == "not measured"
        click(facts["parts"]["devices"])
        point("key", "Down", "Return")
        told(program, "devices", lambda name: "open plan" in name)
        click(at_rest(program)["parts"]["measure"])
        facts_with(program, "results", lambda count: count == 1)
        facts = at_rest(program)
        ways = {
            name: place
            for name, place in facts["parts"].items()
            if name.endswith("/s") and " to " in name
        }
        assert len(ways) == 6, "host and two logical CPUs, each to each other"
        one = next(name for name in ways if name.startswith("CPU:1 to CPU:0"))
        left, top, width, height = ways[one]
        point("mousemove", left + width // 2, top + height // 2)
        assert told(program, "readout", bool) == one
    (kept,) = kept_results()
    assert kept.result is not None
    assert kept.result.complete
    assert {row.devices for row in kept.result.rows} >= {("CPU:0", "CPU:1"), ("host", "CPU:1")}
