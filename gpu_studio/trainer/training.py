"""Train a plan from its first step, or from its checkpoint, to its end.

A resumed run continues exactly if the data come in the same order; otherwise it continues from
the beginning of the epoch.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.common.figures import plural
from gpu_studio.contract import (
    Finished,
    Log,
    RunDirectory,
    StateChanged,
    Warned,
    resumed_from,
)
from gpu_studio.contract.events import Event
from gpu_studio.plan import Plan, listed, save
from gpu_studio.trainer import checkpoints, devices, session, user_code
from gpu_studio.trainer.callbacks import Hooks, called_by_each, make_callbacks
from gpu_studio.trainer.checkpoints import Checkpoints, Elsewhere
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.data.fingerprints import TRAINING, VALIDATION
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.failures import FailureContext
from gpu_studio.trainer.loop import Loop
from gpu_studio.trainer.progress import Reached, TrainingProgress
from gpu_studio.trainer.seen_apart import draws
from gpu_studio.trainer.served.refusals import refuse_callbacks
from gpu_studio.trainer.session import PHASE, Session
from gpu_studio.trainer.team import ALONE, Team
from gpu_studio.trainer.telemetry import TakesEvents, Telemetry
from gpu_studio.trainer.xla import XLA


def train_plan(
    run: RunDirectory,
    plan: Plan,
    writer: TakesEvents,
    control: Control,
    reached: Reached,
    context: FailureContext,
    team: Team = ALONE,
) -> Finished:
    """Train, reporting to `writer` and obeying `control`; return how it ended.

    `context` is given what explains a failure, and `team` are the processes that train together.
    Raises TrainerError, and what TensorFlow raises.
    """
    stored, tell = stored_checkpoint(run, team), context.hearing(writer.write)
    before = None if stored is None else stored[0]
    context.session = made = session.build(plan, context.base, tell, team, before)
    context.plan = made.plan
    if made.plan != plan and team.writes:
        _keep_completed(made.plan, run)
    context.meter = session.memory_meter(made)
    reported = user_code.codes_imported_by_name(plan, context.base)
    for code in reported:
        writer.write(code)
    if plan.devices.log_placement:
        writer.write(Log(message="Where each operation was placed stands in trainer.log."))
    if stored is not None:
        reached.progress = _going_on(stored[0], made, writer)
    elif made.plan.training.initial_epoch:
        reached.progress = _beginning(made, writer)
    telemetry = Telemetry(run, writer, context.meter, writes=team.writes)
    try:
        with devices.on_host():
            hooks = _hooks(run, made, writer, context.base, team)
            return _loop(run, made, writer, control, reached, telemetry, stored, hooks, team)
    finally:
        for code in user_code.codes_imported_by_name(plan, context.base):
            if code not in reported:  # a layer may import something only when it is trained
                writer.write(code)


def _hooks(run: RunDirectory, made: Session, writer: TakesEvents, base: Path, team: Team) -> Hooks:
    callbacks, served = make_callbacks(made, run, base, writer.write), made.spread.served
    if served is None and (said := called_by_each(callbacks, team.count)):
        writer.write(said)
    hooks = Hooks(callbacks, made, writer.write, writes=team.writes)
    if served and not served.together:
        refuse_callbacks(listed(hooks.at_steps))
    return hooks


def _keep_completed(plan: Plan, run: RunDirectory) -> None:
    """Let the run's plan say what its script gave `fit`, for all who read it.

    Runs of one second are distinguished by when their plans were first written.
    """
    first = run.plan_file.stat()
    save(plan, run.plan_file)
    os.utime(run.plan_file, ns=(first.st_atime_ns, first.st_mtime_ns))


def _loop(
    run: RunDirectory,
    made: session.Session,
    writer: TakesEvents,
    control: Control,
    reached: Reached,
    telemetry: Telemetry,
    stored: Stored | None,
    hooks: Hooks,
    team: Team,
) -> Finished:
    settings = made.plan.training.checkpoint
    checkpoints = (
        Checkpoints(run.checkpoints, settings, writer.write, lambda: control.run.checkpoints)
        if team.writes
        else Elsewhere()
    )
    try:
        loop = Loop(made, control, telemetry, checkpoints, reached, hooks, team)
        if stored is not None:
            restore(loop, made, *stored)
            hooks.go_on(*stored)
        team.ready(lambda: digests(made), loop.progress.step)
        telemetry.start()
        writer.write(StateChanged(state="running"))
        return loop.run()
    except Exception as error:
        made.dataset.check()  # a changed file explains it better than TensorFlow's error
        for split in made.dataset.splits:
            split.blame(error)
        raise
    finally:
        telemetry.close()
        checkpoints.close()


_IN_WORDS = {
    "samples_per_epoch": "their number",
    "seed": "training.seed",
    "data": "their name",
    "split": "data.split",
    "groups": "data.groups",
    "data_code": "the code that makes them",
    "first_batch": "the first batch of the stream",
}
_SAME = "Resume with the same data and training.seed to go on exactly where it stopped."
Stored = tuple[dict[str, Any], dict[str, np.ndarray]]


def digests(made: Session) -> dict[str, str]:
    """Return digests of what must be alike in all processes that train together, by its name."""
    weights = hashlib.blake2b()
    for name, value in sorted(made.capture().items()):
        weights.update(name.encode())
        weights.update(np.ascontiguousarray(value).tobytes())
    known = repr(sorted(made.identity().items(), key=lambda pair: pair[0]))
    return {"data": hashlib.sha256(known.encode()).hexdigest(), "weights": weights.hexdigest()}


def stored_checkpoint(run: RunDirectory, team: Team = ALONE) -> Stored | None:
    """Return the state and arrays to resume from.

    None if the run starts anew. Raises TrainerError.
    """
    if team.checkpoint is not None:
        return checkpoints.read(team.checkpoint)
    note = resumed_from(run)
    return None if note is None else checkpoints.read(run.checkpoints / note.checkpoint)


def progress_in(state: Mapping[str, Any], session: Session) -> tuple[TrainingProgress, Event]:
    """Return where to resume, and what to say about it.

    Raises TrainerError for an invalid state.
    """
    try:
        progress = TrainingProgress.from_dict(dict(state))
    except (KeyError, TypeError, ValueError) as error:
        raise TrainerError(
            f"The checkpoint's state cannot be read: {error!r}.",
            ["Resume from an earlier checkpoint of the run."],
        ) from error
    changed = _changed(state, session.identity())
    mixed = _are_other_samples(state, changed)
    if mixed or "seed" in changed or "first_batch" in changed:
        return progress.before_epoch(), _other_training(progress, changed, mixed, session)
    return progress, _same_training(progress, changed, session)


def _beginning(made: Session, writer: TakesEvents) -> TrainingProgress:
    """Return where a run begins that takes its first epochs for trained, and say so.

    Their steps count, too, where it is known how many there are: as of a run that is resumed.
    """
    before = made.plan.training.initial_epoch
    counted = f"{plural(before, 'epoch')} before, as training.initial_epoch says"
    writer.write(Log(message=f"Begins with epoch {before + 1}, after {counted}."))
    return TrainingProgress(epoch=before, step=before * (made.passes.steps_per_epoch or 0))


def _going_on(state: Mapping[str, Any], made: Session, writer: TakesEvents) -> TrainingProgress:
    """Return where to resume; whoever reads the events is told how."""
    progress, said = progress_in(state, made)
    writer.write(said)
    for warned in other_draws(state, made):
        writer.write(warned)
    return progress


def _changed(state: Mapping[str, Any], identity: Mapping[str, Any]) -> list[str]:
    """Return which parts of the identity differ in the checkpoint.

    What an older checkpoint does not state counts as the same.
    """
    before = {"split": None, **state}  # before plans could say how to split, every split was random
    return [name for name, value in identity.items() if name in before and before[name] != value]


def _are_other_samples(state: Mapping[str, Any], changed: Collection[str]) -> bool:
    """Return whether other samples are trained on now.

    If the checkpoint does not record its own, the plan's words decide.
    """
    if TRAINING in state:
        return TRAINING in changed
    return bool(changed)


def _other_training(
    progress: TrainingProgress, changed: Collection[str], mixed: bool, session: Session
) -> Warned:
    """Say that other samples are trained on (`mixed`), or the same in another order."""
    what = (
        "Other data than the checkpoint's"
        if mixed
        else "The samples come in another order than the checkpoint's"
    )
    reasons = (
        ", ".join(_IN_WORDS[name] for name in changed if name in _IN_WORDS)
        or "the samples themselves"
    )
    repeated = f" Epoch {progress.epoch + 1} starts anew." if progress.samples else ""
    measured = mixed and (session.dataset.validation or session.dataset.test)
    seen = " Samples that validate or test now may have been trained on before." if measured else ""
    return Warned(message=f"{what} ({reasons}).{repeated}{seen}", suggestion=_SAME)


def _same_training(progress: TrainingProgress, changed: Collection[str], session: Session) -> Event:
    if VALIDATION in changed and session.dataset.validation:
        return Warned(
            message="Other validation samples than the checkpoint's: figures of before and after "
            "do not compare, neither for early stopping nor for the best checkpoint.",
            suggestion=_SAME,
        )
    return Log(message=f"Going on after step {progress.step}, in epoch {progress.epoch + 1}.")


def other_draws(state: Mapping[str, Any], session: Session) -> Iterator[Warned]:
    """Warn if a batch now comes in more or fewer parts.

    Layers draw random numbers separately for each part.
    """
    before, now = state.get("parts"), session.cut.replicas
    began, by_xla = state.get(XLA), session.program.by_xla
    if not _differs(before, now) and not _differs(began, by_xla):
        return
    if not draws(session.model, session.dataset):
        return
    others = (
        "dropout and other random layers draw other numbers from here on, so that losses are not "
        "those that the first run would have had."
    )
    if _differs(before, now):
        yield Warned(
            message=(
                f"A batch comes in {now} parts now, before the checkpoint in {before}: {others}"
            ),
            suggestion=(
                "It trains as well. For the same losses resume with as many "
                "replicas and micro-batches."
            ),
        )
    else:
        yield Warned(
            message=f"XLA compiles the steps {'now' if by_xla else 'no longer'}: {others}",
            suggestion=(
                "It trains as well. For the same losses resume on such a device as before, with "
                "the training.jit_compile of before."
            ),
        )


def _differs(before: object, now: object) -> bool:
    """Return whether what a checkpoint knows is otherwise now; an older one does not know it."""
    return before not in (None, now)


def restore(
    loop: Loop, session: Session, state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Load the checkpoint's contents into the session and the loop, in the phase that it is of."""
    loop.begin_phase(state.get(PHASE, 0))
    session.restore(arrays)
    if loop.progress.samples:
        loop.tally.restore(_under("tally/", arrays))
    loop.best_weights = _under("best/", arrays)


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
