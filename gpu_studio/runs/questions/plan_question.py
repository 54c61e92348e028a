"""Questions to TensorFlow about a plan: its data, its model, and the times of its layers.

The data are asked about first, then the model for these data, and the first answer is quick.
Each question contains only what its answer depends on, so that other edits still find the
cached answer. A question that would run the user's Python code is asked only once that code
is allowed, and again when it changes.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.contract.user_files import code_files
from gpu_studio.plan import AbsolutePlan, PlannedDevice, listed
from gpu_studio.plan.data import watched_folders
from gpu_studio.runs.questions.ask import AskError, ask, kept
from gpu_studio.runs.sources import consent_needed, trains_before

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
    "ids",
    "one_hot",
    "largest_token",
    "lowest",
    "highest",
    "inputs",
    "targets",
    "weights",
)


def data_question(plan: AbsolutePlan) -> dict[str, Any]:
    """What the data depend on."""
    asked = replace(_blank(), data=plan.data, training=plans.Training(seed=plan.training.seed))
    cluster = plans.cluster_of(plan)
    here = cluster is not None and cluster.start == "local" and not cluster.servers
    return {
        "plan": plans.dumps(asked),
        "files": stamps(*files_of_data(plan), *files_of_code(asked)),
        # Each holds the data: that decides whether they fit.
        **({"together": cluster.workers} if cluster and here else {}),
    }


def model_question(plan: AbsolutePlan, data: Mapping[str, Any]) -> dict[str, Any]:
    """What the model and its optimizer depend on, given the answer `data`."""
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
    files = stamps(plan.model.file, plan.model.weights, *files_of_code(asked))
    return {"plan": plans.dumps(asked), "files": files, "data": seen}


def of_the_step(training: plans.Training) -> plans.Training:
    """The settings that define a compiled step, and nothing else of `training`."""
    return plans.Training(
        optimizer=training.optimizer,
        options=training.options,
        loss=training.loss,
        metrics=training.metrics,
        outputs=training.outputs,
        mixed_precision=training.mixed_precision,
        phases=tuple(replace(phase, after=1, learning_rate=1.0) for phase in training.phases),
    )


def ask_about(
    plan: AbsolutePlan,
    *,
    command: Sequence[str] | None = None,
    reported: Reported | None = None,
    progress: Callable[[str], None] | None = None,
    cancel: threading.Event | None = None,
    trains: bool = False,
) -> dict[str, Any]:
    """Ask everything about `plan`, in the form that `placement.plan_facts` reads.

    The keys are `data`, `data_error`, `advice` and `model`. `reported` is called in this thread
    with the answer as soon as the data are known. If it `trains`, that is done which a script
    trains before a later call of `fit`; else what that is given is known only if it was asked so
    before. Raises AskError, including NotAllowedError before any question about code that may not
    run.
    """
    refuse_unless_allowed(plan)
    options: dict[str, Any] = {
        "trains": trains,
        "command": command,
        "timeout": TIMEOUT,
        "progress": progress,
        "cancel": cancel,
    }
    answer = dict(_asked(plan, "data", data_question(plan), **options))
    if reported is not None:
        reported(answer)
    if answer.get("data"):
        answer["model"] = _asked(plan, "model", model_question(plan, answer["data"]), **options)
    return answer


def _asked(
    plan: AbsolutePlan, question: str, about: dict[str, Any], *, trains: bool, **options: Any
) -> dict[str, Any]:
    """The answer to a question; where the plan's script trains before, a kept one if there is."""
    also = _trained_before(plan)
    if also and not trains and (known := kept(question, about | also, options.get("command"))):
        return known
    return ask(question, about=about | also if trains else about, **options).value


def ask_about_data(
    plan: AbsolutePlan, *, progress: Callable[[str], None] | None = None, trains: bool = False
) -> dict[str, Any]:
    """The answer about the data of `plan` alone. Raises AskError, as `ask_about` does."""
    refuse_unless_allowed(replace(_blank(), data=plan.data))
    options: dict[str, Any] = {"trains": trains, "timeout": TIMEOUT, "progress": progress}
    return dict(_asked(plan, "data", data_question(plan), **options))


def _trained_before(plan: AbsolutePlan) -> dict[str, Any]:
    """What lets a question train; empty where there is nothing to train."""
    return {"trains": True} if trains_before(plan) else {}


def kept_about(plan: AbsolutePlan) -> dict[str, Any] | None:
    """The same from cached answers only.

    None if one of them is missing or its code is not allowed.
    """
    if (answer := kept_about_data(plan)) is None:
        return None
    model = kept("model", model_question(plan, answer["data"]) | _trained_before(plan))
    return None if model is None else {**answer, "model": model}


def kept_about_data(plan: AbsolutePlan) -> dict[str, Any] | None:
    """The answer about the data, if they were read, without one about the model."""
    if consent_needed(plan):
        return None
    answer = kept("data", data_question(plan) | _trained_before(plan))
    return answer if answer and answer.get("data") else None


def _blank() -> AbsolutePlan:
    return AbsolutePlan(plans.Plan(name="question"))


def files_of_data(plan: AbsolutePlan) -> list[str]:
    """The absolute path of the file or table of the data, and of their folder and those in it.

    Overwriting an image under its old name is not noticed: the times of 100,000 of them are not
    checked.
    """
    data = plan.data
    folder = Path(data.folder) if data.folder else None
    if data.table and data.options.get("images"):
        folder = Path(data.table).parent / str(data.options.get("folder", ""))
    folders = [] if folder is None else watched_folders(folder)
    return [*filter(None, [data.file, data.table]), *map(str, folders)]


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


TIMES_TIMEOUT = 900.0
"""Seconds: real steps are trained, on each kind of device, of a model that may be large."""


def times_question(plan: AbsolutePlan, devices: Sequence[PlannedDevice]) -> dict[str, Any]:
    """What the answer depends on.

    Of the slices of a physical device only the largest is measured, because they are equally fast.
    """
    asked = replace(
        _blank(),
        devices=plan.devices,
        model=plan.model,
        data=plan.data,
        training=replace(
            of_the_step(plan.training),
            batch_size=plan.training.batch_size,
            tf32=plan.training.tf32,
        ),
    )
    by_size = sorted(devices, key=lambda device: device.limit_mib or 0, reverse=True)
    largest = {device.physical: device.name for device in reversed(by_size)}
    return {
        "plan": plans.dumps(asked),
        "files": stamps(
            plan.model.file, plan.model.weights, *files_of_data(plan), *files_of_code(plan)
        ),
        "devices": sorted(largest.values()),
        "wanted": ["layers", "links", "share", "held"],
    }


def ask_times(
    plan: AbsolutePlan,
    devices: Sequence[PlannedDevice],
    *,
    command: Sequence[str] | None = None,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    cancel: threading.Event | None = None,
) -> dict[str, Any]:
    """The layers' times on the largest of `devices` of each kind, for `placement.work.times_in`.

    Raises AskError, including NotAllowedError before any question about code that may not run.
    """
    refuse_unless_allowed(plan)
    about = times_question(plan, devices)
    options: dict[str, Any] = {"command": command, "progress": progress, "cancel": cancel}
    return ask("times", about=about, timeout=TIMES_TIMEOUT, fresh=fresh, **options).value


MOST_FILES = 500
"""So many Python files of a folder are looked at for changes: a question waits for that."""
_MOST_ENTRIES = 10_000


class NotAllowedError(AskError):
    """The question was not asked, because it would run `files`, which are not allowed as they are.

    `short` says so without advice.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        are = "is" if len(files) == 1 else "are"
        self.files = tuple(files)
        self.short = f"{listed(path.name for path in files)} {are} not allowed yet"
        super().__init__(
            f"{self.short}: read first, then allow (gpu-studio code allow "
            f"{shlex.join(map(str, files))})."
        )


def refuse_unless_allowed(plan: AbsolutePlan) -> None:
    """Raise NotAllowedError if a question about `plan` would run code that is not allowed."""
    if needed := consent_needed(plan):
        raise NotAllowedError([path for path, _ in needed])


def files_of_code(plan: AbsolutePlan) -> list[str]:
    """The Python files that an answer about `plan` depends on: those that it runs, and all beside.

    Includes those of packages there; at most MOST_FILES in total.
    """
    named = code_files(plan)
    beside = (
        path
        for folder in dict.fromkeys(file.parent for file in named)
        for path in _python_files(folder)
    )
    return [str(path) for path in dict.fromkeys((*named, *islice(beside, MOST_FILES)))]


def _python_files(folder: Path) -> Iterator[Path]:
    entries = _entries(folder)
    yield from (path for path in entries if path.suffix == ".py")
    for package in entries:
        inside = [] if package.suffix else _entries(package)
        if any(path.name == "__init__.py" for path in inside):
            yield from (path for path in inside if path.suffix == ".py")


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(islice(folder.iterdir(), _MOST_ENTRIES))
    except OSError:  # a file, or gone
        return []
