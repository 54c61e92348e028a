"""Resume a run from one of its checkpoints, as a new run with its own plan and directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.common.figures import grouped
from gpu_studio.common.safe_files import lock_if_there_are_locks, open_regular
from gpu_studio.contract import (
    LineTail,
    Model,
    Resume,
    RunDirectory,
    SavedCheckpoint,
    checkpoints,
    resumed_from,
    to_go_on_from,
)
from gpu_studio.contract.directory import STATE_FILE
from gpu_studio.contract.events import decode
from gpu_studio.plan import Machine, Plan, Problem, placement_of, replica_count
from gpu_studio.plan.difference import Difference, differences
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.paths import run_command
from gpu_studio.runs.state import is_live, live_runs

KEPT: dict[str, str] = {
    "model": "the checkpoint holds the weights of the run's own model",
    "data": "the checkpoint stands in the middle of the run's own data",
    "training.optimizer": "the checkpoint holds the state of the run's own optimizer",
    "training.options": "the checkpoint holds the state of the run's own optimizer",
    "training.mixed_precision": (
        "the checkpoint holds the state of an optimizer with or without loss scaling"
    ),
    "training.phases": "the checkpoint holds the state of the optimizer of its phase",
    "training.loss": "its curve would go on as another's",
    "training.metrics": "the checkpoint holds what they have counted so far",
    "training.shuffle": "the checkpoint stands in the middle of the run's own order of samples",
    "training.seed": "it decides which samples are validation, and in which order the others come",
}
"""The fields of a plan that stay as they are when a run is resumed, and why; others may change."""

_BATCH = ("training.batch_size", "training.batch_scope")
_WAIT_SECONDS = 10.0


def problems_of(
    resume: Resume, before: Plan, after: Plan, machine: Machine | None
) -> list[Problem]:
    """Every problem that prevents the run of the plan `before` from resuming as `after`, by field.

    The global batch must not change: it is read from the run, else computed for `machine`.
    """
    changed = {each.field: each for each in differences(before, after)}
    kept = [_kept(each, why) for each in changed.values() if (why := _why_kept(each.field))]
    return [
        *kept,
        *_batch_problems(resume.run, before, after, machine),
        *_epoch_problems(resume, after),
    ]


def other_draws(
    before: Plan, after: Plan, machine: Machine, checkpoint: SavedCheckpoint | None = None
) -> str:
    """The warning if resuming makes random layers draw other numbers.

    `before` is the run's plan and `after` the new one; `checkpoint` says what was made of "auto".
    They draw for each part of a batch: each replica's, or each micro-batch of a placed model, and
    XLA makes others of the same seed. Empty if neither changes. With "auto" a run goes on as it
    began; where it cannot, it says so itself.
    """
    was, now = _parts(before, machine), _parts(after, machine)
    recorded = checkpoint.xla if checkpoint else None
    asked, by_xla = before.training.jit_compile, after.training.jit_compile
    began = asked is True if recorded is None else recorded
    if by_xla == asked:  # where XLA compiled nothing, as for practice cards, it does not now
        by_xla = began
    elif by_xla == "auto":
        by_xla = recorded is not None and began
    if was == now and began == by_xla:
        return ""
    why = f"A batch comes in {now} part{'s' if now > 1 else ''} now, not in {was}"
    if was == now:
        why = f"XLA compiles the steps {'now' if by_xla else 'no longer'}"
    return (
        f"{why}: dropout and other random layers draw other numbers from here on. A model without "
        f"such layers trains to the same losses{', but for rounding' if began != by_xla else ''}."
    )


def _parts(plan: Plan, machine: Machine) -> int:
    placed = placement_of(plan)
    return placed.micro_batches if placed else max(1, replica_count(plan, machine))


def trained_batch(run: RunDirectory) -> int | None:
    """The global batch with which `run` was trained, in samples; None if it did not report one."""
    tail = LineTail(run.events_file)
    for line in tail.read_all():
        if isinstance(event := decode(line), Model):
            return event.global_batch
    return None


def global_batch(plan: Plan, machine: Machine | None) -> int | None:
    """The samples of one step over all replicas; None if that depends on an unknown machine."""
    size = plan.training.batch_size
    if plan.training.batch_scope == "global":
        return size
    return None if machine is None else size * max(1, replica_count(plan, machine))


def _why_kept(field: str) -> str:
    return next(
        (
            why
            for kept, why in KEPT.items()
            if field == kept or field.startswith((f"{kept}.", f"{kept}["))
        ),
        "",
    )


def _kept(changed: Difference, why: str) -> Problem:
    back = f"set it back to {changed.before}" if changed.before is not None else "take it out again"
    now = changed.after if changed.after is not None else "left out"
    return Problem(changed.field, f"{now} now", f"{back}, because a resumed run keeps it: {why}")


def _batch_problems(
    run: RunDirectory, before: Plan, after: Plan, machine: Machine | None
) -> Iterator[Problem]:
    if all(_same_batch(before, after)) and after.training.batch_scope == "global":
        return
    was, now = trained_batch(run) or global_batch(before, machine), global_batch(after, machine)
    if was is None or now is None or was == now:
        return
    scope = after.training.batch_scope
    keep = (
        f"set it to {was}"
        if scope == "global"
        else f"set training.batch_scope to global and this to {was}"
    )
    received = (
        f"{after.training.batch_size} {'in all' if scope == 'global' else 'a replica'}, "
        f"{grouped(now)} samples a step"
    )
    yield Problem(
        _BATCH[0],
        received,
        f"{keep}: the run was trained with {grouped(was)}, and its steps go on being counted",
    )


def _same_batch(before: Plan, after: Plan) -> Iterator[bool]:
    yield before.training.batch_size == after.training.batch_size
    yield before.training.batch_scope == after.training.batch_scope


def _epoch_problems(resume: Resume, after: Plan) -> Iterator[Problem]:
    done, epochs = resume.checkpoint.epoch, after.training.epochs
    if done >= epochs:
        name = resume.checkpoint.name
        advice = (
            f"{name} has already been trained for {grouped(done)} of {grouped(epochs)} epochs: "
            f"ask for {done + 1} or more"
        )
        yield Problem("training.epochs", str(epochs), advice)


class ResumeError(Exception):
    """Why a run cannot be resumed, and what to do, in words."""


def resume(
    run: RunDirectory,
    runs: Path | None = None,
    *,
    checkpoint: str | None = None,
    plan: plans.AbsolutePlan | None = None,
    machine: plans.Machine | None = None,
    wait: float = _WAIT_SECONDS,
    **options: Any,
) -> Launched:
    """Start a new run under `runs` (by default beside `run`) from a checkpoint of `run`.

    `checkpoint` is as in `choose`. `plan` is the one to use, by default the run's own; `options`
    are those of `launch`. So many seconds it waits for another program that resumes from the
    checkpoint at this moment. Raises ResumeError, OSError, and PlanError also for what a resumed
    run must keep, with nothing left behind.
    """
    chosen = choose(run, checkpoint)
    before = run.load_plan()
    after = plan or before
    _refuse_if_trained(after, chosen.checkpoint)
    if problems := problems_of(chosen, before, after, machine):
        raise plans.PlanError(problems, after.name)
    folder = runs or run.path.parent
    with _one_at_a_time(chosen, wait):
        _refuse_if_under_way(chosen, after, folder)
        return launch(after, folder, resume=chosen, machine=machine, **options)


def choose(run: RunDirectory, name: str | None = None) -> Resume:
    """Choose a complete checkpoint of `run`: the newest, `best` (the newest best one), or by name.

    The newest is one from which the run goes on exactly: what its end left is chosen by name only.
    So it is if none was the best, because nothing was monitored.

    Raises ResumeError if the run is still alive, or has no such checkpoint.
    """
    if is_live(run):
        stop = run_command("runs stop", run.path)
        raise ResumeError(f"{run.id} is still training: stop it first, with: {stop}")
    saved = checkpoints(run)
    if not saved:
        raise ResumeError(
            f"{run.id} has no complete checkpoint to resume from: train its plan anew."
        )
    if not name or (name == "best" and not any(one.best for one in saved)):
        return Resume(run, to_go_on_from(saved) or saved[-1])
    return Resume(run, named(saved, name, run))


@contextmanager
def _one_at_a_time(resume: Resume, wait: float) -> Iterator[None]:
    """Have other programs that resume from the checkpoint wait until this one has, if it can.

    Raises ResumeError if another one has not after `wait` seconds.
    """
    free = True
    with ExitStack() as held:
        with suppress(OSError):
            descriptor = open_regular(resume.checkpoint.path / STATE_FILE, os.O_RDWR)
            held.callback(os.close, descriptor)
            free = lock_if_there_are_locks(descriptor, wait)
        if not free:
            raise ResumeError(
                f"Another program is just now resuming {resume.run.id} from "
                f"{resume.checkpoint.name}: look at the run that it starts, or try again."
            )
        yield


def _refuse_if_under_way(resume: Resume, plan: Plan, runs: Path) -> None:
    """Raises ResumeError if a live run does the same already, as after a second press."""
    for live in live_runs(runs):
        origin = resumed_from(live)
        same = (resume.run.id, resume.checkpoint.name)
        if origin and (origin.run, origin.checkpoint) == same and _has_plan(live, plan):
            watch = run_command("runs attach", live.path)
            raise ResumeError(
                f"{live.id} goes on from {resume.checkpoint.name} of {resume.run.id} already, with "
                f"the same plan: watch it, with: {watch}"
            )


def _has_plan(run: RunDirectory, plan: Plan) -> bool:
    try:
        return plans.dumps(run.load_plan()) == plans.dumps(plan)
    except plans.PlanError:
        return False


def named(saved: list[SavedCheckpoint], name: str, run: RunDirectory) -> SavedCheckpoint:
    """The one of `saved` that `name` means: `best` or its own. Raises ResumeError if none is."""
    if name == "best":
        # If no checkpoint was ever the best (nothing was monitored), the newest will do.
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
            f"{checkpoint.name} has already been trained for {grouped(checkpoint.epoch)} of "
            f"{grouped(plan.training.epochs)} epochs: ask for more, with --set "
            f"training.epochs={checkpoint.epoch + 1}"
        )
