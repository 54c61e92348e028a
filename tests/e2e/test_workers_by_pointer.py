"""Two workers with a real pointer: planned, examined, trained, one killed, all started again."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import warm_members
from patience import PATIENCE_S
from real_runs import kill_trainers
from training_runs import small_plan, until
from x_desk import Desk
from x_program import started

from gpu_studio.contract import events
from gpu_studio.plan import save
from gpu_studio.runs import catalogue
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.lineage import events_of

PROGRAM = Path(__file__).parents[1] / "support" / "workers_window.py"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """A plan of three workers that trains until it is stopped."""
    path = tmp_path / "team.plan.toml"
    workers = ("distribution.strategy=multi_worker", "cluster.workers=3")
    trusted = "cluster.trusted_network=true"  # whatever addresses this machine has
    plan = small_plan("name=team", "devices.carve=", "training.epochs=100000", *workers, trusted)
    save(plan, path)
    return path


@pytest.fixture
def desk(x_environment: dict[str, str], plan_file: Path, runs: Path) -> Iterator[Desk]:
    """The window with the plan open."""
    folder = plan_file.parent
    own = {
        "GPU_STUDIO_SETTINGS": str(folder / "window.ini"),
        "FAKE_ASKER_STARTS": str(folder / "questions"),
        TRAINER_VARIABLE: shlex.join(warm_members.command(rest=0.5)),
    }
    environment = {**x_environment, **own, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}
    command = [sys.executable, str(PROGRAM), "--runs-dir", str(runs), str(plan_file)]
    try:
        with started(command, environment) as program:
            yield Desk(program, environment)
        assert program.returncode == 0
    finally:
        kill_trainers(runs)


@pytest.mark.whole(
    "tests/ui/plan/test_cluster_section.py", "tests/trainer/cluster/test_cluster_runs.py"
)
@pytest.mark.slow
def test_that_two_workers_are_planned_examined_trained_and_start_again_after_a_loss(
    desk: Desk, runs: Path
) -> None:
    desk.sees(lambda facts: "Train" in facts["parts"] and facts["planned"] == 3)
    desk.enter()
    desk.hands("key", "alt+5")
    desk.sees(lambda facts: "how many" in facts["parts"])
    desk.settle()
    desk.click("how many")
    desk.hands("key", "ctrl+a", "type", "--delay", 1, "2")
    desk.hands("key", "Return")
    desk.sees(lambda facts: facts["planned"] == 2 and facts["examined"])
    desk.settle()
    desk.click("Train")
    desk.sees(lambda facts: facts["page"] == "train" and facts["workers"] == ["training"] * 2)
    desk.sees(lambda facts: facts["step"] > 0)
    desk.click("stack of worker 1")
    assert "Thread 0x" in desk.sees(lambda facts: facts["stack"])["stack"]
    desk.click("Close")
    facts = desk.sees(lambda facts: not facts["stack"])
    os.kill(facts["pids"][1], signal.SIGKILL)
    before = facts["pids"]
    facts = desk.sees(lambda facts: facts["starts"] == 2 and facts["workers"] == ["training"] * 2)
    assert set(facts["pids"]).isdisjoint(before)
    desk.click("Stop")
    desk.sees(lambda facts: facts["state"] == "stopped")
    (run,) = catalogue.directories(runs)
    told = list(events_of(run))
    (warned,) = (each for each in told if isinstance(each, events.Warned))
    assert warned.message.startswith("Worker 1 was ended by SIGKILL. Now all 2 workers start")
    until(lambda: not any(map(psutil.pid_exists, facts["pids"])), PATIENCE_S)
    assert not any(map(psutil.pid_exists, facts["pids"]))
