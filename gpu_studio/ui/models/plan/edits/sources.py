"""Changes of where the model and the data come from."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio.plan import Plan
from gpu_studio.plan.catalogue import DATA, MODELS
from gpu_studio.plan.validation import validate
from gpu_studio.ui.models.plan.edits.plan_path import value_at, with_value

SOURCES = {"model": ("name", "file", "python"), "data": ("name", "file", "folder", "python")}
"""The sources that each part of a plan can have, as its keys are called."""


def given_sources(plan: Plan, part: str) -> tuple[str, ...]:
    """Which sources the part names; a plan that is in order names one."""
    return tuple(key for key in SOURCES[part] if value_at(plan, f"{part}.{key}") is not None)


def choose_source(plan: Plan, part: str, source: str) -> Plan:
    """The plan with this kind of source for the model or the data, and no other; built-in is one that fits.

    The options belonged to the old source and go with it. A path is empty until it is chosen.
    """
    return set_source(plan, part, source, _fitting(plan, part) if source == "name" else "")


def set_source(plan: Plan, part: str, source: str, value: str) -> Plan:
    """The plan with this source of the model or the data. Its options stay only if the source stays."""
    chosen: Any = getattr(plan, part)
    if given_sources(plan, part) == (source,) and (source != "name" or chosen.name == value):
        return with_value(plan, f"{part}.{source}", value)
    cleared = dict.fromkeys(SOURCES[part])
    return replace(plan, **{part: replace(chosen, **{**cleared, source: value, "options": {}})})


def relative_path(path: Path, base: Path | None) -> str:
    """How a plan whose file is in the folder `base` calls a file: relative where the file is within that folder.

    A plan that has no file yet, with `base` None, calls it by its whole path.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link stays a link
    if base is None or not whole.is_relative_to(base.absolute()):
        return str(whole)
    return whole.relative_to(base.absolute()).as_posix()


def _fitting(plan: Plan, part: str) -> str:
    """The first built-in with which the rules see nothing wrong between model and data."""
    names = MODELS if part == "model" else DATA
    return next((name for name in names if _fits(set_source(plan, part, "name", name))), next(iter(names)))


def _fits(plan: Plan) -> bool:
    return not any(problem.field.startswith(("model", "data")) for problem in validate(plan))
