"""Make the paths in a plan absolute, so that its files are found from anywhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpu_studio.common.user_paths import expanded
from gpu_studio.plan.values import Plan


def with_absolute_files(plan: Plan, folder: Path) -> Plan:
    """Return `plan` with each relative file, folder and `file.py:function` taken from `folder`."""
    model = replace(
        plan.model, file=_file(plan.model.file, folder), python=_function(plan.model.python, folder)
    )
    data = replace(
        plan.data,
        file=_file(plan.data.file, folder),
        folder=_file(plan.data.folder, folder),
        python=_function(plan.data.python, folder),
    )
    return replace(plan, model=model, data=data)


def absolute(name: str, folder: Path) -> Path:
    """Return the absolute path that `name` means in `folder`; `~` is the user's home."""
    return folder / expanded(name)


def _file(name: str | None, folder: Path) -> str | None:
    return str(absolute(name, folder)) if name else name


def _function(reference: str | None, folder: Path) -> str | None:
    if not reference:
        return reference
    file, colon, function = reference.rpartition(":")
    return f"{_file(file, folder)}:{function}" if colon and file else reference
