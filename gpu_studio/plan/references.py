"""The files and functions that a plan names, `models.py:build_model`, and their absolute paths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from keyword import iskeyword
from pathlib import Path, PurePath
from typing import NewType

from gpu_studio.common.paths import expanded
from gpu_studio.plan.values import Plan

SUFFIX = ".py"

AbsolutePlan = NewType("AbsolutePlan", Plan)
"""A plan whose files are all named absolutely, which only `with_absolute_files` makes.

Whoever opens a plan's files takes one of these and no folder: there is nothing left to resolve
them against.
"""


@dataclass(frozen=True, slots=True)
class Reference:
    """The function `function` in the Python file `file`, as the plan writes its path."""

    file: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"

    @property
    def file_name(self) -> str:
        """The file without its folders."""
        return PurePath(self.file).name


def reference(text: str) -> Reference | None:
    """Parse `text`; None if it is not of the form `file.py:function`.

    The last colon separates, as a folder's name may contain one.
    """
    file, colon, function = text.rpartition(":")
    name = PurePath(file).name
    if (
        not colon
        or not text.isprintable()
        or not name.lower().endswith(SUFFIX)
        or len(name) == len(SUFFIX)
    ):
        return None
    is_function = function.isidentifier() and not iskeyword(function)
    return Reference(file, function) if is_function else None


def with_absolute_files(plan: Plan, folder: Path) -> AbsolutePlan:
    """Return `plan` with each relative file, folder and `file.py:function` taken from `folder`.

    Done once, by who knows the folder: the one who has read the plan, or has it open.
    """
    folder = folder.absolute()
    model = replace(
        plan.model, file=_file(plan.model.file, folder), python=_function(plan.model.python, folder)
    )
    data = replace(
        plan.data,
        file=_file(plan.data.file, folder),
        folder=_file(plan.data.folder, folder),
        python=_function(plan.data.python, folder),
    )
    return AbsolutePlan(replace(plan, model=model, data=data))


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
