"""Changes of the two parts of a Python source, `models.py:build_model`: the file, and the function in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gpu_studio.plan import Plan
from gpu_studio.runs.relocation import absolute
from gpu_studio.ui.models.plan.edits.plan_path import value_at, with_value
from gpu_studio.ui.models.plan.python_functions import Function

_BOTH = re.compile(r"(.*\.py):(\w*)", re.IGNORECASE | re.DOTALL)


def file_part(plan: Plan, path: str) -> str:
    """The file that the source at `path` names; also where no function is named yet."""
    return _split(value_at(plan, path) or "")[0]


def function_part(plan: Plan, path: str) -> str:
    """The function that the source at `path` names; empty where none is."""
    return _split(value_at(plan, path) or "")[1]


def code_path(plan: Plan, path: str, base: Path) -> Path | None:
    """Where the file of the source at `path` is; relative names start at `base`. None if none is named."""
    name = file_part(plan, path)
    return absolute(name, base) if name and name.isprintable() else None


def with_file_part(plan: Plan, path: str, text: str) -> Plan:
    """The plan with another file there. A text that names a function as well, as when it is pasted, changes both."""
    both = _BOTH.fullmatch(text)
    file, function = both.groups() if both else (text, "")
    return with_value(plan, path, _joined(file, function or function_part(plan, path)))


def with_function_part(plan: Plan, path: str, name: str) -> Plan:
    """The plan with another function there."""
    return with_value(plan, path, _joined(file_part(plan, path), name))


def with_file(plan: Plan, path: str, file: str, functions: Sequence[Function]) -> Plan:
    """The plan with a file that was chosen: with the same function if it has it, else with its only one, else none."""
    names = [each.name for each in functions]
    before = function_part(plan, path)
    only = names[0] if len(names) == 1 else ""
    return with_value(plan, path, _joined(file, before if before in names else only))


def names_both(text: str) -> bool:
    """Whether a text that was typed for a file goes on with the function."""
    return _BOTH.fullmatch(text) is not None


def _split(text: str) -> tuple[str, str]:
    file, colon, function = text.rpartition(":")
    return (file, function) if colon else (text, "")


def _joined(file: str, function: str) -> str:
    return f"{file}:{function}" if file or function else ""
