"""Go on with a run from one of its checkpoints: as a new run, with its own plan and its own directory."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.runs.checkpoints import SavedCheckpoint, checkpoints
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.inheritance import Resume
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.relocation import with_absolute_files
from gpu_studio.runs.resumption import problems_of
from gpu_studio.runs.state import is_live


class ResumeError(Exception):
    """Why a run cannot be gone on with, and what to do, in words."""


def resume(
    run: RunDirectory,
    runs: Path | None = None,
    *,
    checkpoint: str | None = None,
    plan: plans.Plan | None = None,
    settings: Sequence[str] = (),
    base: Path | None = None,
    machine: plans.Machine | None = None,
    **options: Any,
) -> Launched:
    """Start a new run under `runs` (by default beside `run`) that goes on where a checkpoint of `run` stands.

    `checkpoint` is as in `choose`. `plan` is what to go on with, by default the run's own; its relative files are
    looked for in `base`. `settings` change it (`training.epochs=4`); `options` are those of `launch`. Raises
    ResumeError, OSError, and PlanError also for what a resumed run must keep, with nothing left behind.
    """
    chosen = choose(run, checkpoint)
    folder = base or Path.cwd()
    before = plans.load(run.plan_file)
    after = with_absolute_files(plans.with_settings(plan or before, settings), folder)
    _refuse_if_trained(after, chosen.checkpoint)
    if problems := problems_of(chosen, before, after, machine):
        raise plans.PlanError(problems, after.name)
    return launch(after, runs or run.path.parent, resume=chosen, base=base, machine=machine, **options)


def choose(run: RunDirectory, name: str | None = None) -> Resume:
    """Choose a complete checkpoint of `run`: the newest, or `best` (the newest that was best), or the one called so.

    Raises ResumeError if the run still lives, or has no such checkpoint.
    """
    if is_live(run):
        raise ResumeError(f"{run.id} is still training: stop it first, with: gpu-studio runs stop {run.id}")
    saved = checkpoints(run)
    if not saved:
        raise ResumeError(f"{run.id} has no complete checkpoint to resume from: train its plan anew.")
    return Resume(run, named(saved, name, run) if name else saved[-1])


def named(saved: list[SavedCheckpoint], name: str, run: RunDirectory) -> SavedCheckpoint:
    """The one of `saved` that `name` means, as in `choose`. Raises ResumeError if there is none."""
    if name == "best":
        # Where no checkpoint was ever the best (nothing was monitored), the newest is as good as any.
        return next((one for one in reversed(saved) if one.best), saved[-1])
    by_name = {one.name: one for one in saved}
    if name not in by_name:
        near = get_close_matches(name, by_name, 1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(by_name)}."
        raise ResumeError(f"{run.id} has no complete checkpoint {name}: {hint}")
    return by_name[name]


def _refuse_if_trained(plan: plans.Plan, checkpoint: SavedCheckpoint) -> None:
    if checkpoint.epoch >= plan.training.epochs:
        raise ResumeError(
            f"{checkpoint.name} has already been trained for {checkpoint.epoch:,} of {plan.training.epochs:,} epochs: "
            f"ask for more, with --set training.epochs={checkpoint.epoch + 1}"
        )
