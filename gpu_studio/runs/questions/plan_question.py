"""Questions to TensorFlow about a plan: first its data, then its model for these data.

The first is answered quickly. Each question contains only what its answer depends on, so that other
edits still find the cached answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.plan.image_folders import watched_folders
from gpu_studio.plan.relocation import absolute, with_absolute_files
from gpu_studio.runs.questions.ask import ask, kept
from gpu_studio.runs.questions.own_code import files_of_code, refuse_unless_allowed
from gpu_studio.runs.sources import consent_needed

Reported = Callable[[dict[str, Any]], None]

TIMEOUT = 300.0
"""Seconds for each of the two answers; a model of thousands of layers takes a while to build."""
SEEN_BY_THE_MODEL = (
    "name",
    "task",
    "classes",
    "x_shape",
    "x_dtype",
    "y_shape",
    "y_dtype",
    "largest_token",
    "lowest",
    "highest",
)


def data_question(plan: plans.Plan, base: Path) -> dict[str, Any]:
    """What the data depend on; relative file names are taken from `base`."""
    plan = with_absolute_files(plan, base.absolute())
    asked = replace(_blank(), data=plan.data, training=plans.Training(seed=plan.training.seed))
    return {
        "plan": plans.dumps(asked),
        "files": stamps(*files_of_data(plan), *files_of_code(asked, base)),
    }


def model_question(plan: plans.Plan, base: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """What the model and its optimizer depend on, given the answer `data`."""
    plan = with_absolute_files(plan, base.absolute())
    training = plan.training
    asked = replace(
        _blank(),
        model=plan.model,
        devices=plans.DeviceSettings(visible=plan.devices.visible)
        if training.mixed_precision
        else plans.DeviceSettings(),
        training=of_the_step(training),
    )
    seen = {name: data.get(name) for name in SEEN_BY_THE_MODEL}
    files = stamps(plan.model.file, *files_of_code(asked, base))
    return {"plan": plans.dumps(asked), "files": files, "data": seen}


def of_the_step(training: plans.Training) -> plans.Training:
    """The settings that define a compiled step, and nothing else of `training`."""
    return plans.Training(
        optimizer=training.optimizer,
        options=training.options,
        loss=training.loss,
        metrics=training.metrics,
        mixed_precision=training.mixed_precision,
    )


def ask_about(
    plan: plans.Plan,
    base: Path,
    *,
    command: Sequence[str] | None = None,
    reported: Reported | None = None,
    progress: Callable[[str], None] | None = None,
    cancel: threading.Event | None = None,
) -> dict[str, Any]:
    """Ask everything about `plan`, in the form that `placement.plan_facts` reads.

    The keys are `data`, `data_error`, `advice` and `model`. `told` is called in this thread with
    the answer as soon as the data are known. Raises AskError, including NotAllowedError before any
    question about code that may not run.
    """
    refuse_unless_allowed(plan, base)
    options: dict[str, Any] = {
        "command": command,
        "timeout": TIMEOUT,
        "progress": progress,
        "cancel": cancel,
    }
    answer = dict(ask("data", about=data_question(plan, base), **options).value)
    if reported is not None:
        reported(answer)
    if answer.get("data"):
        answer["model"] = ask(
            "model", about=model_question(plan, base, answer["data"]), **options
        ).value
    return answer


def ask_about_data(
    plan: plans.Plan, base: Path, *, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """The answer about the data of `plan` alone. Raises AskError, as `ask_about` does."""
    refuse_unless_allowed(replace(_blank(), data=plan.data), base)
    return dict(
        ask("data", about=data_question(plan, base), timeout=TIMEOUT, progress=progress).value
    )


def kept_about(plan: plans.Plan, base: Path) -> dict[str, Any] | None:
    """The same from cached answers only.

    None if one of them is missing or its code is not allowed.
    """
    if consent_needed(plan, base):
        return None
    answer = kept("data", data_question(plan, base))
    if not answer or not answer.get("data"):
        return None
    model = kept("model", model_question(plan, base, answer["data"]))
    return None if model is None else {**answer, "model": model}


def _blank() -> plans.Plan:
    return plans.Plan(name="question")


def files_of_data(plan: plans.Plan) -> list[str]:
    """The absolute path of the data's file, or of the image folder and its classes' folders.

    Overwriting an image under its old name is not noticed: the times of 100,000 of them are not
    checked.
    """
    data = plan.data
    folders = watched_folders(absolute(data.folder, Path())) if data.folder else []
    return [*filter(None, [data.file]), *map(str, folders)]


def stamps(*names: str | None) -> dict[str, list[int]]:
    """Size and modification time, in ns, of each existing file and folder."""
    stamps = {}
    for name in filter(None, names):
        try:
            found = Path(name).stat()
        except (OSError, ValueError):
            continue
        stamps[name] = [found.st_size, found.st_mtime_ns]
    return stamps
