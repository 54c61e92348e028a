"""Why a loss became no number: the steps before it once more, from the newest finite weights, and then a closer look.

The order of the samples is a function of the seed and the epoch, so that the steps since a checkpoint (or since the
beginning) can be repeated. They are repeated by the same compiled function; only the last two are looked into, with a
plain copy of the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from gpu_studio.runs.checkpoints import checkpoints
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.trainer import checkpoints as stored
from gpu_studio.trainer.batches import order_of
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.failures.copy_of_model import CopyOfModel
from gpu_studio.trainer.failures.finding import Finding, Look
from gpu_studio.trainer.pace import Pace
from gpu_studio.trainer.progress import Progress
from gpu_studio.trainer.session import Session

PATIENCE_SECONDS = 30.0
Arrays = Mapping[str, np.ndarray]


def inquest(
    session: Session, run: RunDirectory, base: Path, step: int, hurried: Callable[[], bool] = lambda: False
) -> Finding | None:
    """Look into `step`, whose loss was not finite; None if the steps before it take too long, or somebody waits.

    The session's variables are other ones afterwards. Raises TrainerError and what TensorFlow raises.
    """
    copy = CopyOfModel(session, base)
    progress, arrays = _newest_sound(run, step) or (Progress(), copy.fresh())
    before = max(progress.step, step - 1)
    if not _repeat(session, arrays, progress, before, hurried):
        return None
    copy.take(session.capture())
    if before == step:
        return _finding(progress.step, copy.look(*_samples(session, progress, step)), {})
    norms = copy.gradient_norms(*_samples(session, progress, before))
    if not _repeat(session, session.capture(), _moved(session, progress, before), step, hurried):
        return None
    copy.take(session.capture())
    return _finding(progress.step, copy.look(*_samples(session, progress, step)), norms)


def _finding(since: int, look: Look, norms: Mapping[str, float]) -> Finding:
    return Finding(since, look, {name: norm for name, norm in norms.items() if np.isfinite(norm)})


def _newest_sound(run: RunDirectory, step: int) -> tuple[Progress, Arrays] | None:
    """The newest sound checkpoint that leaves a step before `step` to look at; None: begin at the beginning.

    A resumed run cannot be repeated from its beginning: there the checkpoint at `step` itself will do.
    """
    last = step if run.resume_file.exists() else step - 1
    for one in reversed([saved for saved in checkpoints(run) if saved.step <= last]):
        try:
            state, arrays = stored.read(run.checkpoints / one.name)
            progress = Progress.from_dict(state)
        except (TrainerError, KeyError, TypeError, ValueError):
            continue
        if not any(np.any(np.isnan(array)) for name, array in arrays.items() if name.startswith("model/")):
            return progress, arrays
    return None


def _repeat(session: Session, arrays: Arrays, progress: Progress, step: int, hurried: Callable[[], bool]) -> bool:
    """Train from `progress` to `step`; false if that takes longer than a person would wait, or somebody waits."""
    session.restore(arrays)
    stream = session.training_stream(progress.epoch, progress.samples)
    pace, now, end = Pace(session.plan.training.steps_per_call), progress.step, time.monotonic() + PATIENCE_SECONDS
    while now < step:
        if hurried() or time.monotonic() > end:
            return False
        count, began = pace.next(step - now), time.perf_counter()
        session.program.train(stream, now, count)
        pace.measured(count, time.perf_counter() - began)
        now += count
    return True


def _moved(session: Session, progress: Progress, step: int) -> Progress:
    """Where in the data the step numbered `step` begins, counted on from `progress`."""
    cut, left = session.cut, step - progress.step
    in_epoch = cut.steps(progress.samples)
    if left < in_epoch:
        return Progress(progress.epoch, step, 0, progress.samples + left * cut.batch)
    epochs, rest = divmod(left - in_epoch, cut.steps())
    return Progress(progress.epoch + 1 + epochs, step, 0, rest * cut.batch)


def _samples(session: Session, progress: Progress, step: int) -> tuple[np.ndarray, np.ndarray]:
    """The global batch of a step: samples and targets."""
    at = _moved(session, progress, step)
    order = order_of(at.epoch, session.cut.samples, session.plan.training.seed).numpy()
    rows = order[at.samples : at.samples + session.cut.batch]
    split = session.dataset.train
    return split.seen(rows), split.wanted(rows)
