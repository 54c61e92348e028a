"""The functions that a Python file defines, read as text: nothing of it is run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpu_studio.plan.problems import printable
from gpu_studio.plan.writing import inline
from gpu_studio.runs.consent import read_code
from gpu_studio.ui.models.plan.typed_values import read_toml

LARGEST_READ = 512 * 1024
"""Bytes of the largest file that is read for its functions: one that is larger would hold the window up."""
GIVEN = ("input_shape", "outputs", "classes", "seed")
"""Parameters that the trainer gives by itself."""
LONGEST_DEFAULT = 40


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a function can be given by its name. `default` is a value that a plan could hold too; None where it is not.

    `written` is the default as it stands in the file; empty where the parameter has none and must be given.
    """

    name: str
    default: Any = None
    written: str = ""

    @property
    def hint(self) -> str:
        """What is to be said of it where the default is no value that can be shown as one."""
        if self.default is not None:
            return ""
        return f"default {self.written}" if self.written else "has no default: give it a value"


@dataclass(frozen=True, slots=True)
class Function:
    """A function at the top level of a file; `hint` is its docstring's first line, `parameters` what it can be given.

    `takes_more` is whether it also takes options of any other name.
    """

    name: str
    hint: str = ""
    parameters: tuple[Parameter, ...] = ()
    takes_more: bool = False


def functions_in(path: Path) -> tuple[Function, ...]:
    """Its functions in their order, without those that are named as private; none of what cannot be read."""
    try:
        found = path.stat()
        if not path.is_file() or found.st_size > LARGEST_READ:
            return ()
        return _read(path, found.st_mtime_ns, found.st_size)
    except (OSError, ValueError):
        return ()


@lru_cache(maxsize=8)  # a form is shown with every letter that is typed into it
def _read(path: Path, _changed: int, _size: int) -> tuple[Function, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file's own style
            tree = ast.parse(read_code(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(_functions(tree))


def _functions(tree: ast.Module) -> Iterator[Function]:
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, node in found.items():
        if not name.startswith("_"):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            more = node.args.kwarg is not None
            yield Function(name, printable(first.strip()), tuple(_parameters(node.args)), more)


def _parameters(arguments: ast.arguments) -> Iterator[Parameter]:
    """Those that can be given by their names, and that the trainer does not give by itself."""
    by_place = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(by_place) - len(arguments.defaults)), *arguments.defaults]
    pairs = list(zip(by_place, defaults, strict=True))[len(arguments.posonlyargs) :]
    for each, default in (*pairs, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if each.arg not in GIVEN:
            yield Parameter(each.arg, _value_of(default), _written(default))


def _written(default: ast.expr | None) -> str:
    """The default as it stands in the file, on one line; empty where there is none."""
    if default is None:
        return ""
    try:
        text = printable(ast.unparse(default))
    except (ValueError, RecursionError):
        return "…"
    return text if len(text) <= LONGEST_DEFAULT else f"{text[: LONGEST_DEFAULT - 1]}…"


def _value_of(default: ast.expr | None) -> Any:
    """The default as a plan would hold it; None where it has to be computed, or a plan has no such value."""
    try:
        value = ast.literal_eval(default) if default is not None else None
        return read_toml(inline(value)) if value is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
