"""Edits of where the model and the data come from.

A Python source, `models.py:build_model`, has two parts: the file and its function.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio.plan import Named, Plan
from gpu_studio.plan.catalogue import DATA, MODELS
from gpu_studio.plan.edits.change import value_at, with_value
from gpu_studio.plan.references import absolute
from gpu_studio.plan.script_calls import number_of
from gpu_studio.plan.scripts import OF_PLANS, FitCall, plan_of
from gpu_studio.plan.validation import validate

SOURCES = {
    "model": ("name", "file", "python"),
    "data": ("name", "file", "folder", "table", "python"),
}
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

    Options are kept only if the source stays the same, and so are the weights and the frozen
    layers of a model, and what of the training is as in the script of the data.
    """
    chosen: Any = getattr(plan, part)
    if given_sources(plan, part) == (source,) and (source != "name" or chosen.name == value):
        return with_value(plan, f"{part}.{source}", value)
    cleared: dict[str, Any] = dict.fromkeys(SOURCES[part])
    if part == "model":
        cleared |= {"weights": None, "frozen": ()}
    if (part, source) == ("model", "python"):
        plan = _as_compiled(plan)
    elif part == "data":  # of another script nothing is known
        plan = replace(plan, training=replace(plan.training, as_in_script=()))
    return replace(plan, **{part: replace(chosen, **{**cleared, source: value, "options": {}})})


def _as_compiled(plan: Plan) -> Plan:
    """The plan that trains with what a model of the user's own is compiled with, if it is."""
    auto, training = Named("auto"), plan.training
    chosen = replace(training, optimizer="auto", options={}, schedule=None, loss=auto)
    return replace(plan, training=replace(chosen, metrics=(auto,)))


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


_FILE_AND_FUNCTION = re.compile(r"(.*\.py):(\w*)", re.IGNORECASE | re.DOTALL)


def file_part(plan: Plan, path: str) -> str:
    """The file that the source at `path` names, even if no function is named yet."""
    return _file_and_function(value_at(plan, path) or "")[0]


def function_part(plan: Plan, path: str) -> str:
    """The function that the source at `path` names; empty where none is."""
    return _file_and_function(value_at(plan, path) or "")[1]


def code_path(plan: Plan, path: str, base: Path) -> Path | None:
    """The path of the source's file, relative names taken from `base`; None if no file is named."""
    name = file_part(plan, path)
    return absolute(name, base) if name and name.isprintable() else None


def with_file_part(plan: Plan, path: str, text: str) -> Plan:
    """The plan with another file. Text that also names a function, as when pasted, changes both."""
    both = _FILE_AND_FUNCTION.fullmatch(text)
    file, function = both.groups() if both else (text, "")
    return with_value(plan, path, _python_source(file, function or function_part(plan, path)))


def with_function_part(plan: Plan, path: str, name: str) -> Plan:
    """The plan with another function."""
    return with_value(plan, path, _python_source(file_part(plan, path), name))


def with_file(plan: Plan, path: str, file: str, functions: Sequence[str]) -> Plan:
    """The plan with a newly chosen file, which defines `functions`.

    The plan keeps its function if the file defines it; otherwise it names the file's only function,
    or none.
    """
    before = function_part(plan, path)
    only = functions[0] if len(functions) == 1 else ""
    return with_value(plan, path, _python_source(file, before if before in functions else only))


def with_script(plan: Plan, file: str, call: FitCall) -> Plan:
    """The plan on the same devices that trains what the call of `fit` in a script trains."""
    made = plan_of(file, call)
    return replace(plan, name=made.name, model=made.model, data=made.data, training=made.training)


def with_call(plan: Plan, path: str, call: FitCall) -> Plan:
    """The plan in which the source at `path` is this call of `fit` of its script.

    Where the plan has another call of the script, model, data and callbacks become those of this
    one, and so does what its text says of the training.
    """
    file = file_part(plan, path)

    def is_of_script(text: str) -> bool:
        named, function = _file_and_function(text)
        return named == file and number_of(function) > 0

    sources = [f"{part}.python" for part in SOURCES]
    before = {each: value_at(plan, each) or "" for each in sources}
    own = {each: text for each, text in before.items() if is_of_script(text)}
    made = plan_of(file, call)
    for each in {*own, path}:
        plan = with_value(plan, each, made.model.python)
    if set(own.values()) <= {made.model.python} or "data.python" not in {*own, path}:
        return plan
    others = tuple(each for each in plan.training.callbacks if not is_of_script(each.name))
    said: dict[str, Any] = {name: getattr(made.training, name) for name in OF_PLANS}
    said |= {"callbacks": (*made.training.callbacks, *others), "as_in_script": call.unknown}
    return replace(plan, training=replace(plan.training, **said))


def names_both(text: str) -> bool:
    """Whether text typed as a file also names a function."""
    return _FILE_AND_FUNCTION.fullmatch(text) is not None


def _file_and_function(text: str) -> tuple[str, str]:
    file, colon, function = text.rpartition(":")
    return (file, function) if colon else (text, "")


def _python_source(file: str, function: str) -> str:
    return f"{file}:{function}" if file or function else ""
