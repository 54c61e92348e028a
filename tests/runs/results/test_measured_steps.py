"""Of which run a measured step is shown under a prediction: the newest that trained exactly so."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from lane_plans import placed_plan
from made_placements import mlp_placement, mlp_timeline
from made_runs import Script, make_run, tell

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import (
    CheckpointSettings,
    ModelSettings,
    Placed,
    Plan,
    save,
    with_absolute_files,
)
from gpu_studio.runs.catalogue import numbered
from gpu_studio.runs.labels import title_of
from gpu_studio.runs.results.measured_steps import MeasuredSteps, what_a_step_depends_on

HERE = Path("/nowhere")
PLAN = placed_plan()


def ran(runs: Path, plan: Plan, *, measured: bool = True) -> RunDirectory:
    run = make_run(runs, Script(trained=0.2))
    save(plan, run.plan_file)
    tell(run, mlp_placement(), *([mlp_timeline()] if measured else []))
    numbered(runs)
    return run


def test_that_the_newest_run_of_the_plan_gives_the_step(runs_dir: Path) -> None:
    steps = MeasuredSteps(runs_dir)
    assert steps.newest(PLAN) is None
    old = ran(runs_dir, PLAN)
    os.utime(old.plan_file, (1, 1))
    new = ran(runs_dir, PLAN)
    found = steps.newest(PLAN)
    assert found is not None
    assert (found.title, found.timeline.tasks) == (title_of(new), mlp_timeline().tasks)


def test_that_a_newer_run_that_has_measured_nothing_does_not_hide_it(runs_dir: Path) -> None:
    old = ran(runs_dir, PLAN)
    os.utime(old.plan_file, (1, 1))
    ran(runs_dir, PLAN, measured=False)
    found = MeasuredSteps(runs_dir).newest(PLAN)
    assert found is not None
    assert found.title == title_of(old)


def other_plans() -> dict[str, Plan]:
    placed, training = PLAN.distribution.placed, PLAN.training
    assert placed is not None
    elsewhere = {**placed.layers, "outputs": ("CPU:0",)}
    return {
        "another place": _placed(replace(placed, layers=elsewhere)),
        "another number of micro-batches": _placed(replace(placed, micro_batches=2)),
        "recomputed": _placed(replace(placed, recompute=True)),
        "another batch": replace(PLAN, training=replace(training, batch_size=65)),
        "another optimizer": replace(PLAN, training=replace(training, optimizer="sgd")),
        "another model": replace(PLAN, model=replace(PLAN.model, options={"hidden": [7]})),
        "other devices": replace(PLAN, devices=replace(PLAN.devices, carve=())),
    }


def _placed(part: Placed) -> Plan:
    return replace(PLAN, distribution=replace(PLAN.distribution, placed=part))


@pytest.mark.parametrize("what", other_plans())
def test_that_a_run_of_anything_else_is_not_taken(runs_dir: Path, what: str) -> None:
    ran(runs_dir, other_plans()[what])
    assert MeasuredSteps(runs_dir).newest(PLAN) is None


def test_that_what_changes_no_step_does_not_matter() -> None:
    training = replace(
        PLAN.training,
        epochs=9,
        learning_rate=0.5,
        seed=3,
        steps_per_call=7,
        checkpoint=CheckpointSettings(2),
    )
    same = replace(PLAN, name="another", training=training)
    assert what_a_step_depends_on(same) == what_a_step_depends_on(PLAN)


@pytest.mark.parametrize(
    ("key", "name", "text"), [("file", "own.keras", "{}"), ("python", "own.py", "{}:build")]
)
def test_that_a_model_file_that_was_changed_since_the_run_is_another_model(
    runs_dir: Path, tmp_path: Path, key: str, name: str, text: str
) -> None:
    file = tmp_path / name
    file.write_bytes(b"")
    plan = with_absolute_files(
        replace(PLAN, model=ModelSettings(**{key: text.format(name)})), tmp_path
    )
    run = ran(runs_dir, replace(plan, model=ModelSettings(**{key: text.format(file)})))
    os.utime(file, (1, 1))
    assert MeasuredSteps(runs_dir).newest(plan) is not None
    os.utime(run.plan_file, (0, 0))
    assert MeasuredSteps(runs_dir).newest(plan) is None
    file.unlink()
    assert MeasuredSteps(runs_dir).newest(plan) is None


def test_that_runs_that_cannot_be_read_are_passed_over(runs_dir: Path) -> None:
    good = ran(runs_dir, PLAN)
    os.utime(good.plan_file, (1, 1))
    broken = ran(runs_dir, PLAN)
    broken.plan_file.write_text("nonsense =")
    unread = ran(runs_dir, PLAN)
    unread.events_file.unlink()
    unread.events_file.mkdir()
    found = MeasuredSteps(runs_dir).newest(PLAN)
    assert found is not None
    assert found.title == title_of(good)
