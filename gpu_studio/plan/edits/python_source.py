"""Edits of the two parts of a Python source, `models.py:build_model`: the file and its function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gpu_studio.plan import Plan
from gpu_studio.plan.edits.plan_path import value_at, with_value
from gpu_studio.plan.relocation import absolute

_BOTH = re.compile(r"(.*\.py):(\w*)", re.IGNORECASE | re.DOTALL)


def file_part(plan: Plan, path: str) -> str:
    """The file that the source at `path` names, even if no function is named yet."""
    return _split(value_at(plan, path) or "")[0]


def function_part(plan: Plan, path: str) -> str:
    """The function that the source at `path` names; empty where none is."""
    return _split(value_at(plan, path) or "")[1]


def code_path(plan: Plan, path: str, base: Path) -> Path | None:
    """The path of the source's file, relative names taken from `base`; None if no file is named."""
    name = file_part(plan, path)
    return absolute(name, base) if name and name.isprintable() else None


def with_file_part(plan: Plan, path: str, text: str) -> Plan:
    """The plan with another file. Text that also names a function, as when pasted, changes both."""
    both = _BOTH.fullmatch(text)
    file, function = both.groups() if both else (text, "")
    return with_value(plan, path, _joined(file, function or function_part(plan, path)))


def with_function_part(plan: Plan, path: str, name: str) -> Plan:
    """The plan with another function."""
    return with_value(plan, path, _joined(file_part(plan, path), name))


def with_file(plan: Plan, path: str, file: str, functions: Sequence[str]) -> Plan:
    """The plan with a newly chosen file, which defines `functions`.

    The plan keeps its function if the file defines it; otherwise it names the file's only function,
    or none.
    """
    before = function_part(plan, path)
    only = functions[0] if len(functions) == 1 else ""
    return with_value(plan, path, _joined(file, before if before in functions else only))


def names_both(text: str) -> bool:
    """Whether text typed as a file also names a function."""
    return _BOTH.fullmatch(text) is not None


def _split(text: str) -> tuple[str, str]:
    file, colon, function = text.rpartition(":")
    return (file, function) if colon else (text, "")


def _joined(file: str, function: str) -> str:
    return f"{file}:{function}" if file or function else ""
