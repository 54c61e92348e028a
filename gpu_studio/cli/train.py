"""`train` and `resume`: start a run, and follow it or leave it running."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_studio.cli.command import (
    EXIT_CODES,
    OK,
    Commands,
    RefusedError,
    add_allowing,
    add_command,
    add_fit,
    add_json,
    add_run,
    add_set,
    named_run,
    note,
    runs_folder,
    say,
    say_json,
)

if TYPE_CHECKING:
    from gpu_studio import plan as plans
    from gpu_studio.contract import RunDirectory
    from gpu_studio.runs.launch import Launched

STARTER = "starter"
_TRAIN = (
    """Ctrl+C once stops the run with a checkpoint; twice stops it now, without one. Closing the
terminal leaves the run alive: see it again with `gpu-studio runs attach latest`, or in the window.

examples:
  gpu-studio train
  gpu-studio train digits.plan.toml --set training.epochs=1 training.batch_size=128
  gpu-studio train digits.plan.toml --name "wide" --set "model.options={ hidden = [512] }"
  gpu-studio train digits.plan.toml --detach
  gpu-studio train digits.plan.toml --json | grep '"event": "epoch"'

"""
    + EXIT_CODES
)
_RESUME = (
    """Devices, carve, strategy, epochs, learning rate and checkpoints may change; model, data and
optimizer may not.

examples:
  gpu-studio resume latest
  gpu-studio resume latest --set training.epochs=40
  gpu-studio resume 20261120 --checkpoint best --set distribution.strategy=none
  gpu-studio resume latest --plan four-devices.plan.toml

"""
    + EXIT_CODES
)


def register(commands: Commands) -> None:
    """Add both commands."""
    parser = add_command(commands, "train", "train a plan", _TRAIN, train, trains=True)
    parser.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        default=STARTER,
        help="the plan file, or a script that calls fit; without it, the starter plan",
    )
    add_fit(parser)
    add_set(parser)
    parser.add_argument("--name", help="another name for the plan")
    _add_following(parser)
    summary = "resume a run that has ended, from a checkpoint, as a new run"
    parser = add_command(commands, "resume", summary, _RESUME, resume, trains=True)
    add_run(parser)
    add_resuming(parser)


def add_resuming(parser: argparse.ArgumentParser) -> None:
    """Add what a run can go on with, and what becomes of it then.

    `resume` and `runs resume` take it.
    """
    parser.add_argument(
        "--checkpoint",
        metavar="NAME",
        help="the checkpoint, or: best (default: the newest that the run goes on from exactly)",
    )
    parser.add_argument(
        "--plan", metavar="PLAN", type=Path, help="resume with this plan instead of the run's own"
    )
    add_set(parser)
    _add_following(parser)


def _add_following(parser: argparse.ArgumentParser) -> None:
    add_allowing(parser)
    parser.add_argument(
        "--allow-shell",
        action="store_true",
        help="let the lines of shell run that the plan gives Slurm, as they are now",
    )
    parser.add_argument(
        "--detach", action="store_true", help="return at once, and leave the run training"
    )
    add_json(parser, "write the run's events, one JSON document a line")


def train(chosen: argparse.Namespace) -> int:
    """Train a plan file, or the starter plan of this machine."""
    from dataclasses import replace

    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import every_problem, have_allowed, this_machine
    from gpu_studio.runs.launch import launch

    path = None if chosen.plan == STARTER else Path(chosen.plan)
    machine = this_machine(users=path is None)
    written = plans.load(path, chosen.fit) if path else plans.starter(machine)
    written = plans.with_settings(written, chosen.settings)
    if chosen.name is not None:
        written = replace(written, name=chosen.name)
    base = path.absolute().parent if path else Path.cwd()
    plan = plans.with_absolute_files(written, base)
    have_allowed(plan, allow=chosen.allow_code, may_ask=not chosen.json)
    _have_shell_allowed(plan, chosen)
    if problems := every_problem(written, plan, machine):
        raise plans.PlanError(problems, str(path or plan.name))
    return _start(
        lambda: launch(plan, runs_folder(chosen), base=base, machine=machine), machine, chosen
    )


def _have_shell_allowed(plan: plans.Plan, chosen: argparse.Namespace) -> None:
    """Write down that the plan's lines of shell may run, if they are allowed, and show them."""
    from gpu_studio.contract.consent import allow_shell
    from gpu_studio.hosts.slurm_run import shell_of
    from gpu_studio.plan import printable

    lines = shell_of(plan)
    if not lines or not chosen.allow_shell:
        return
    for line in lines:
        note(f"  {printable(line)}")
    try:
        allow_shell(lines)
    except OSError as error:
        said = f"That these lines may run cannot be written down: {error.strerror or error}"
        raise RefusedError(said) from error


def resume(chosen: argparse.Namespace) -> int:
    """Resume an ended run as a new run: with its own plan, or another that trains the same."""
    return resume_changed(named_run(chosen), chosen)


def resume_changed(run: RunDirectory, chosen: argparse.Namespace) -> int:
    """Resume `run` as `chosen` says: `checkpoint`, `plan`, `settings`."""
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import have_allowed, this_machine
    from gpu_studio.runs.resume import ResumeError, choose, other_draws
    from gpu_studio.runs.resume import resume as resume_run

    machine = this_machine()
    before = plans.load(run.plan_file)
    written = plans.with_settings(
        plans.load(chosen.plan) if chosen.plan else before, chosen.settings
    )
    base = chosen.plan.absolute().parent if chosen.plan else Path.cwd()
    after = plans.with_absolute_files(written, base)
    have_allowed(after, allow=chosen.allow_code, may_ask=not chosen.json)
    _have_shell_allowed(after, chosen)
    with suppress(ResumeError):  # which is reported as the run is started
        saved = choose(run, chosen.checkpoint).checkpoint
        if warning := other_draws(before, after, machine, saved):
            note(warning)
    resumed = partial(
        resume_run,
        run,
        checkpoint=chosen.checkpoint,
        plan=after,
        base=base,
        machine=machine,
    )
    return _start(resumed, machine, chosen)


def _start(
    start: Callable[[], Launched], machine: plans.Machine, chosen: argparse.Namespace
) -> int:
    from gpu_studio.cli.following import StopRun, follow
    from gpu_studio.cli.sinks import sink_for
    from gpu_studio.common.processes import counted_interrupts
    from gpu_studio.runs.paths import open_to_others

    if danger := open_to_others(runs_folder(chosen)):
        note(danger)
    if chosen.detach:
        return _tell_detached(_accompanied(start(), machine), chosen)
    # Counted from before the start, so that no Ctrl+C leaves behind an unannounced run.
    with counted_interrupts() as interrupts:
        launched = _accompanied(start(), machine)
        return follow(launched.directory, sink_for(json=chosen.json), interrupts, StopRun, launched)


def _accompanied(launched: Launched, machine: plans.Machine) -> Launched:
    """Record the machine while the run trains, keep its memory prediction, and return the run."""
    from gpu_studio.cli.given_plan import keep_prediction
    from gpu_studio.hardware import accompany

    accompany(launched.directory.path)
    keep_prediction(launched.directory, machine)
    return launched


def _tell_detached(launched: Launched, chosen: argparse.Namespace) -> int:
    from gpu_studio.runs.labels import number_of
    from gpu_studio.runs.paths import run_command

    run = launched.directory
    if chosen.json:
        say_json({"run": run.id, "directory": str(run.path), "pid": launched.process.pid})
    else:
        say(run.id)
        number = number_of(run)
        which = f"Run #{number}" if number else "It"
        watch = run_command("runs attach", run.path, str(number or ""))
        note(f"{which} trains in the background. Watch it with: {watch}")
    return OK
