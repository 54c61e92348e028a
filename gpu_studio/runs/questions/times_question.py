"""The question to TensorFlow how long each layer of a plan's model takes on each kind of device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.plan import PlannedDevice
from gpu_studio.plan.relocation import with_absolute_files
from gpu_studio.runs.questions.ask import ask
from gpu_studio.runs.questions.own_code import files_of_code, refuse_unless_allowed
from gpu_studio.runs.questions.plan_question import files_of_data, of_the_step, stamps

TIMEOUT = 900.0
"""Seconds: real steps are trained, on each kind of device, of a model that may be large."""


def times_question(
    plan: plans.Plan, base: Path, devices: Sequence[PlannedDevice]
) -> dict[str, Any]:
    """What the answer depends on; relative file names of `plan` are taken from `base`.

    Of the slices of a physical device only the first is measured, because they are equally fast.
    """
    plan = with_absolute_files(plan, base.absolute())
    asked = plans.Plan(
        name="question",
        devices=plan.devices,
        model=plan.model,
        data=plan.data,
        training=replace(of_the_step(plan.training), batch_size=plan.training.batch_size),
    )
    first = {device.physical: device.name for device in reversed(devices)}
    return {
        "plan": plans.dumps(asked),
        "base": str(base.absolute()),
        "files": stamps(plan.model.file, *files_of_data(plan), *files_of_code(plan, base)),
        "devices": sorted(first.values()),
        "wanted": ["layers", "links", "share", "held"],
    }


def ask_times(
    plan: plans.Plan,
    base: Path,
    devices: Sequence[PlannedDevice],
    *,
    command: Sequence[str] | None = None,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    cancel: threading.Event | None = None,
) -> dict[str, Any]:
    """The layers' times on the first of `devices` of each kind, for `placement.estimate.times_in`.

    Raises AskError, including NotAllowedError before any question about code that may not run.
    """
    refuse_unless_allowed(plan, base)
    about = times_question(plan, base, devices)
    options: dict[str, Any] = {"command": command, "progress": progress, "cancel": cancel}
    return ask("times", about=about, timeout=TIMEOUT, fresh=fresh, **options).value
