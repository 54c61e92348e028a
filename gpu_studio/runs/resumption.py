"""What may change between a run and the one that goes on from it, and what must stay for its curve to be one curve."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.plan import Machine, Plan, Problem, replica_count
from gpu_studio.plan.difference import Difference, differences
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import Model, decode
from gpu_studio.runs.inheritance import Resume
from gpu_studio.runs.reading.lines import LineTail

KEPT: dict[str, str] = {
    "model": "the checkpoint holds the weights of the run's own model",
    "data": "the checkpoint stands in the middle of the run's own data",
    "training.optimizer": "the checkpoint holds the state of the run's own optimizer",
    "training.options": "the checkpoint holds the state of the run's own optimizer",
    "training.mixed_precision": "the checkpoint holds the state of an optimizer with or without loss scaling",
    "training.loss": "its curve would go on as another's",
    "training.metrics": "the checkpoint holds what they have counted so far",
    "training.seed": "it decides which samples are validation, and in which order the others come",
}
"""Fields of a plan that a run is gone on with, and why each stays as it is. All others may change."""

_BATCH = ("training.batch_size", "training.batch_scope")


def problems_of(resume: Resume, before: Plan, after: Plan, machine: Machine | None) -> list[Problem]:
    """Everything that keeps the run of the plan `before` from going on as `after`, each at its field.

    The global batch must stay what it was: it is read from the run, else worked out on `machine`.
    """
    changed = {each.field: each for each in differences(before, after)}
    kept = [_kept(each, why) for each in changed.values() if (why := _why_kept(each.field))]
    return [*kept, *_batch_problems(resume.run, before, after, machine), *_epoch_problems(resume, after)]


def other_draws(before: Plan, after: Plan, machine: Machine) -> str:
    """What is said before a run of the plan `before` goes on as `after` and its random layers draw other numbers.

    They draw for each part of a batch: each replica's, or each micro-batch of a placed model. Empty if there are as
    many parts as before.
    """
    was, now = _parts(before, machine), _parts(after, machine)
    if was == now:
        return ""
    return (
        f"A batch comes in {now} part{'s' if now > 1 else ''} now, not in {was}: dropout and other random layers draw "
        "other numbers from here on. A model without such layers trains to the same losses."
    )


def _parts(plan: Plan, machine: Machine) -> int:
    placed = plan.distribution.placed if plan.distribution.strategy == "placed" else None
    return placed.micro_batches if placed else max(1, replica_count(plan, machine))


def trained_batch(run: RunDirectory) -> int | None:
    """The global batch with which `run` was trained, in samples; None if it never came so far as to tell."""
    tail = LineTail(run.events_file)
    for line in tail.read_all():
        if isinstance(event := decode(line), Model):
            return event.global_batch
    return None


def global_batch(plan: Plan, machine: Machine | None) -> int | None:
    """The samples of one step over all replicas; None where that cannot be known without a machine."""
    size = plan.training.batch_size
    if plan.training.batch_scope == "global":
        return size
    return None if machine is None else size * max(1, replica_count(plan, machine))


def _why_kept(field: str) -> str:
    return next((why for kept, why in KEPT.items() if field == kept or field.startswith((f"{kept}.", f"{kept}["))), "")


def _kept(changed: Difference, why: str) -> Problem:
    back = f"set it back to {changed.before}" if changed.before is not None else "take it out again"
    now = changed.after if changed.after is not None else "left out"
    return Problem(changed.field, f"{now} now", f"{back}, because a resumed run keeps it: {why}")


def _batch_problems(run: RunDirectory, before: Plan, after: Plan, machine: Machine | None) -> Iterator[Problem]:
    if all(_same_batch(before, after)) and after.training.batch_scope == "global":
        return
    was, now = trained_batch(run) or global_batch(before, machine), global_batch(after, machine)
    if was is None or now is None or was == now:
        return
    scope = after.training.batch_scope
    keep = f"set it to {was}" if scope == "global" else f"set training.batch_scope to global and this to {was}"
    received = f"{after.training.batch_size} {'in all' if scope == 'global' else 'a replica'}, {now:,} samples a step"
    yield Problem(_BATCH[0], received, f"{keep}: the run was trained with {was:,}, and its steps go on being counted")


def _same_batch(before: Plan, after: Plan) -> Iterator[bool]:
    yield before.training.batch_size == after.training.batch_size
    yield before.training.batch_scope == after.training.batch_scope


def _epoch_problems(resume: Resume, after: Plan) -> Iterator[Problem]:
    done, epochs = resume.checkpoint.epoch, after.training.epochs
    if done >= epochs:
        name = resume.checkpoint.name
        advice = f"{name} has already been trained for {done:,} of {epochs:,} epochs: ask for {done + 1} or more"
        yield Problem("training.epochs", str(epochs), advice)
