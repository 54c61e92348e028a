"""Questions about a checkpoint: evaluate it, or save its model as a `.keras` file.

Each is answered by a short-lived trainer process, even while the run goes on. While any run is
training, an evaluation uses only the host's CPU at low priority, so that it takes no card memory
from a run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio import plan as plans
from gpu_studio.contract import WEIGHTS_FILE, Model, RunDirectory, SavedCheckpoint, checkpoints
from gpu_studio.contract.predictions import Predictions
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.questions.ask import ask
from gpu_studio.runs.questions.plan_question import (
    files_of_code,
    files_of_data,
    refuse_unless_allowed,
    stamps,
)
from gpu_studio.runs.results.evaluations import Evaluation
from gpu_studio.runs.resume import ResumeError, named
from gpu_studio.runs.state import is_live

TIMEOUT = 24 * 3600.0
"""Seconds: a large split on a CPU takes its time, and whoever waits can cancel."""
LATEST = "latest"
SUFFIX = ".keras"


class CheckpointError(Exception):
    """Why a checkpoint could not be evaluated or saved, and what to do, in words."""


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How to ask: `command` is asked instead of the trainer's; `progress` hears what is waited for.

    `cancel` ends it.

    `progress` is called in the thread that asks.
    """

    command: Sequence[str] | None = None
    progress: Callable[[str], None] | None = None
    cancel: threading.Event | None = None


def chosen(run: RunDirectory, name: str = LATEST) -> SavedCheckpoint:
    """The complete checkpoint of `run`, live or ended, for `name`: `latest`, `best`, or its name.

    Raises CheckpointError.
    """
    saved = checkpoints(run)
    if not saved:
        raise CheckpointError(f"{run.id} has no complete checkpoint.")
    try:
        return saved[-1] if name == LATEST else named(saved, name, run)
    except ResumeError as error:
        raise CheckpointError(str(error)) from error


def evaluate(
    run: RunDirectory, checkpoint: SavedCheckpoint, asking: AskOptions = AskOptions()
) -> Evaluation:
    """Loss and metrics of a checkpoint on the test split of its run's plan, else on the validation.

    An answer is cached until the checkpoint or the data change. Raises CheckpointError, and
    AskError if TensorFlow gives no answer.
    """
    taken = _cards_are_taken(run)
    about = _about(run, checkpoint) | {"host": taken, "polite": taken}
    answer = _asked("evaluate", about, asking)
    return Evaluation(
        checkpoint=checkpoint.name,
        split=answer["split"],
        metrics=answer["metrics"],
        samples=answer["samples"],
        seconds=answer["seconds"],
        device=answer["device"],
        time=time.time(),
        warning=answer.get("warning", ""),
    )


def predict(
    run: RunDirectory, checkpoint: SavedCheckpoint, asking: AskOptions = AskOptions()
) -> Predictions:
    """Some samples, and what the checkpoint's model gives for them.

    They are of the split that `evaluate` takes; where nothing is held out, of the training split.

    Computed on the host's CPU: so few samples are worth no card. An answer is cached likewise.
    Raises CheckpointError, and AskError if TensorFlow gives no answer.
    """
    about = _about(run, checkpoint) | {"host": True, "polite": _cards_are_taken(run)}
    return msgspec.convert(_asked("predict", about, asking), Predictions, strict=False)


def best(run: RunDirectory) -> SavedCheckpoint:
    """The best complete checkpoint of `run`, else its newest. Raises CheckpointError."""
    saved = checkpoints(run)
    return next((each for each in reversed(saved) if each.best), None) or chosen(run)


def save_model(
    run: RunDirectory,
    checkpoint: SavedCheckpoint,
    path: Path,
    asking: AskOptions = AskOptions(),
    *,
    replace: bool = False,
) -> int:
    """Write the model with a checkpoint's weights to `path`, 0600, as a `.keras` file.

    Return its bytes. The file is written whole or not at all. An existing one is kept, unless
    `replace`. Raises CheckpointError, AskError if TensorFlow gives no answer, and OSError.
    """
    path = path.absolute()
    _refuse_unwritable(path, replace=replace)
    # In the same folder, so that moving it is atomic; Keras requires the suffix.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}-{threading.get_ident()}{SUFFIX}")
    try:
        about = _about(run, checkpoint) | {
            "host": True,
            "polite": _cards_are_taken(run),
            "path": str(temporary),
        }
        size: int = _asked("keras_file", about, asking)["bytes"]
        temporary.replace(path)
        return size
    finally:
        temporary.unlink(missing_ok=True)


def _about(run: RunDirectory, checkpoint: SavedCheckpoint) -> dict[str, Any]:
    plan = run.load_plan()
    refuse_unless_allowed(plan)
    model = next((event for event in events_of(run) if isinstance(event, Model)), None)
    weights = str(checkpoint.path / WEIGHTS_FILE)
    return {
        "plan": plans.dumps(plan),
        "checkpoint": str(checkpoint.path),
        "precision": model.precision if model else "float32",
        # What fitted a device in training, with gradients, also fits in an evaluation.
        "batch": max(model.replica_batches, default=plan.training.batch_size)
        if model
        else plan.training.batch_size,
        "files": stamps(weights, plan.model.file, *files_of_data(plan), *files_of_code(plan)),
    }


def _asked(question: str, about: dict[str, Any], asking: AskOptions) -> dict[str, Any]:
    answer = ask(
        question,
        about=about,
        command=asking.command,
        timeout=TIMEOUT,
        progress=asking.progress,
        cancel=asking.cancel,
    ).value
    if "problem" in answer:
        raise CheckpointError(" ".join((answer["problem"], *answer.get("advice", ()))))
    return answer


def _cards_are_taken(run: RunDirectory) -> bool:
    return any(is_live(other) for other in directories(run.path.parent))


def _refuse_unwritable(path: Path, *, replace: bool) -> None:
    if path.suffix != SUFFIX:
        raise CheckpointError(
            f"{path.name} is no name for a model: Keras wants it to end in {SUFFIX}."
        )
    if path.is_dir():
        raise CheckpointError(f"{path} is a folder: name a file in it.")
    if path.exists() and not replace:
        raise CheckpointError(
            f"{path} is there already: choose another name, or say that it shall be replaced."
        )
    if not path.parent.is_dir():
        raise CheckpointError(f"There is no folder {path.parent}: make it, or choose another.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise CheckpointError(f"Nothing can be written to {path.parent}: choose another folder.")
