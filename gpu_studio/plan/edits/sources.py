"""Edits of where the model and the data come from."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio.plan import Plan
from gpu_studio.plan.catalogue import DATA, MODELS
from gpu_studio.plan.edits.plan_path import value_at, with_value
from gpu_studio.plan.validation import validate

SOURCES = {"model": ("name", "file", "python"), "data": ("name", "file", "folder", "python")}
"""The sources that each part of a plan can have, as its keys are called."""


def given_sources(plan: Plan, part: str) -> tuple[str, ...]:
    """The sources that the part names; a valid plan names one."""
    return tuple(key for key in SOURCES[part] if value_at(plan, f"{part}.{key}") is not None)


def choose_source(plan: Plan, part: str, source: str) -> Plan:
    """The plan with this kind of source, and no other, for the model or the data.

    A built-in source is one that fits. Options belonged to the old source and are removed. A path
    is empty until it is chosen.
    """
    return set_source(plan, part, source, _fitting(plan, part) if source == "name" else "")


def set_source(plan: Plan, part: str, source: str, value: str) -> Plan:
    """The plan with this source of the model or the data.

    Options are kept only if the source stays the same.
    """
    chosen: Any = getattr(plan, part)
    if given_sources(plan, part) == (source,) and (source != "name" or chosen.name == value):
        return with_value(plan, f"{part}.{source}", value)
    cleared = dict.fromkeys(SOURCES[part])
    return replace(plan, **{part: replace(chosen, **{**cleared, source: value, "options": {}})})


def relative_path(path: Path, base: Path | None) -> str:
    """How a plan in the folder `base` names a file: relatively if the file is within that folder.

    A plan that has no file yet (`base` is None) uses the absolute path.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link stays a link
    if base is None or not whole.is_relative_to(base.absolute()):
        return str(whole)
    return whole.relative_to(base.absolute()).as_posix()


def _fitting(plan: Plan, part: str) -> str:
    """The first built-in for which the rules find no conflict between model and data."""
    names = MODELS if part == "model" else DATA
    return next(
        (name for name in names if _fits(set_source(plan, part, "name", name))), next(iter(names))
    )


def _fits(plan: Plan) -> bool:
    return not any(problem.field.startswith(("model", "data")) for problem in validate(plan))
