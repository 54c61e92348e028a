"""`train` and `resume`: start a run, and follow it or leave it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gpu_studio import plan as plans
from gpu_studio.cli import exit_codes
from gpu_studio.cli.following import follow
from gpu_studio.cli.interrupts import StopRun, counted_interrupts
from gpu_studio.cli.machine import this_machine
from gpu_studio.cli.output import note, say, say_json
from gpu_studio.cli.sinks import sink_for
from gpu_studio.hardware import accompany
from gpu_studio.runs.catalogue import find
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.paths import runs_dir
from gpu_studio.runs.resume import resume as resume_run

STARTER = "starter"


def train(chosen: argparse.Namespace) -> int:
    """Train a plan file, or the starter plan of this machine."""
    machine = this_machine()
    path = None if chosen.plan == STARTER else Path(chosen.plan)
    plan = plans.load(path) if path else plans.starter(machine)
    plan = plans.with_settings(plan, chosen.settings)
    if chosen.name:
        plan = replace(plan, name=chosen.name)
    base = path.absolute().parent if path else Path.cwd()
    return _start(lambda: launch(plan, runs_dir(chosen.runs_dir), base=base, machine=machine), chosen)


def resume(chosen: argparse.Namespace) -> int:
    """Go on with a run that has ended, as a new run."""
    run = find(runs_dir(chosen.runs_dir), chosen.run)
    machine = this_machine()
    return _start(
        lambda: resume_run(run, checkpoint=chosen.checkpoint, settings=chosen.settings, machine=machine), chosen
    )


def _start(start: Callable[[], Launched], chosen: argparse.Namespace) -> int:
    if chosen.detach:
        return _tell_detached(_accompanied(start()), chosen)
    # Counted from before the start on, so that no Ctrl+C leaves behind a run that nobody was told of.
    with counted_interrupts() as interrupts:
        launched = _accompanied(start())
        return follow(launched.directory, sink_for(json=chosen.json), interrupts, StopRun, launched)


def _accompanied(launched: Launched) -> Launched:
    """The run, with the machine recorded beside it for as long as it trains."""
    accompany(launched.directory.path)
    return launched


def _tell_detached(launched: Launched, chosen: argparse.Namespace) -> int:
    run = launched.directory
    if chosen.json:
        say_json({"run": run.id, "directory": str(run.path), "pid": launched.process.pid})
    else:
        say(run.id)
        note(f"It trains in the background. Watch it with: gpu-studio runs attach {run.id}")
    return exit_codes.OK
