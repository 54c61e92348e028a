"""`train` and `resume`: start a run, and follow it or leave it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from gpu_studio import plan as plans
from gpu_studio.cli import exit_codes
from gpu_studio.cli.code.allowing import have_allowed
from gpu_studio.cli.machine import this_machine
from gpu_studio.cli.output import note, say, say_json
from gpu_studio.cli.placing.known import every_problem
from gpu_studio.cli.train.following import follow
from gpu_studio.cli.train.interrupts import StopRun
from gpu_studio.cli.train.run_prediction import keep_prediction
from gpu_studio.cli.train.sinks import sink_for
from gpu_studio.hardware import accompany
from gpu_studio.interrupts import counted_interrupts
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.finding import find
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.numbers import number_of
from gpu_studio.runs.paths import open_to_others, runs_dir
from gpu_studio.runs.resume import resume as resume_run
from gpu_studio.runs.resumption import other_draws

STARTER = "starter"


def train(chosen: argparse.Namespace) -> int:
    """Train a plan file, or the starter plan of this machine."""
    path = None if chosen.plan == STARTER else Path(chosen.plan)
    machine = this_machine(users=path is None)
    plan = plans.load(path) if path else plans.starter(machine)
    plan = plans.with_settings(plan, chosen.settings)
    if chosen.name is not None:
        plan = replace(plan, name=chosen.name)
    base = path.absolute().parent if path else Path.cwd()
    have_allowed(plan, base, allow=chosen.allow_code, may_ask=not chosen.json)
    if problems := every_problem(plan, base, machine):
        raise plans.PlanError(problems, str(path or plan.name))
    return _start(lambda: launch(plan, runs_dir(chosen.runs_dir), base=base, machine=machine), machine, chosen)


def resume(chosen: argparse.Namespace) -> int:
    """Go on with a run that has ended, as a new run: with its own plan, or another that trains the same."""
    return resume_changed(find(runs_dir(chosen.runs_dir), chosen.run), chosen)


def resume_changed(run: RunDirectory, chosen: argparse.Namespace) -> int:
    """Go on with `run` as `chosen` says: `checkpoint`, `plan`, `settings`."""
    machine = this_machine()
    plan = plans.load(chosen.plan) if chosen.plan else None
    base = chosen.plan.absolute().parent if chosen.plan else None
    after = plans.with_settings(plan or plans.load(run.plan_file), chosen.settings)
    have_allowed(after, base or Path.cwd(), allow=chosen.allow_code, may_ask=not chosen.json)
    if warning := other_draws(plans.load(run.plan_file), after, machine):
        note(warning)
    resumed = partial(
        resume_run,
        run,
        checkpoint=chosen.checkpoint,
        plan=plan,
        settings=chosen.settings,
        base=base,
        machine=machine,
    )
    return _start(resumed, machine, chosen)


def _start(start: Callable[[], Launched], machine: plans.Machine, chosen: argparse.Namespace) -> int:
    if danger := open_to_others(runs_dir(chosen.runs_dir)):
        note(danger)
    if chosen.detach:
        return _tell_detached(_accompanied(start(), machine), chosen)
    # Counted from before the start on, so that no Ctrl+C leaves behind a run that nobody was told of.
    with counted_interrupts() as interrupts:
        launched = _accompanied(start(), machine)
        return follow(launched.directory, sink_for(json=chosen.json), interrupts, StopRun, launched)


def _accompanied(launched: Launched, machine: plans.Machine) -> Launched:
    """The run, with the machine recorded beside it for as long as it trains, and what was predicted of it."""
    accompany(launched.directory.path)
    keep_prediction(launched.directory, machine)
    return launched


def _tell_detached(launched: Launched, chosen: argparse.Namespace) -> int:
    run = launched.directory
    if chosen.json:
        say_json({"run": run.id, "directory": str(run.path), "pid": launched.process.pid})
    else:
        say(run.id)
        number = number_of(run)
        which = f"Run #{number}" if number else "It"
        note(f"{which} trains in the background. Watch it with: gpu-studio runs attach {number or run.id}")
    return exit_codes.OK
