"""The functions that a Python file defines, found in its text without running it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpu_studio.contract.consent import read_code
from gpu_studio.plan.problems import printable
from gpu_studio.plan.writing import inline
from gpu_studio.ui.kit.fields.typed import read_toml

LARGEST_READ = 512 * 1024
"""Bytes of the largest file that is read for its functions.

One that is larger would hold the window up.
"""
GIVEN = ("input_shape", "outputs", "classes", "seed")
"""Parameters that the trainer gives by itself."""
LONGEST_DEFAULT = 40


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named parameter of a function. `default` is a value that a plan could hold, else None.

    `written` is the default as written in the file; empty if the parameter has none and must be
    given.
    """

    name: str
    default: Any = None
    written: str = ""

    @property
    def hint(self) -> str:
        """What to say about a default that cannot be shown as a value."""
        if self.default is not None:
            return ""
        return f"default {self.written}" if self.written else "has no default: give it a value"


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function at the top level of a file.

    `hint` is its docstring's first line, `parameters` what it can be given. `takes_more` says
    whether it also takes options of any other name.
    """

    name: str
    hint: str = ""
    parameters: tuple[Parameter, ...] = ()
    takes_more: bool = False


def functions_in(path: Path) -> tuple[PythonFunction, ...]:
    """Return the file's functions in their order, without private ones.

    Empty for what cannot be read.
    """
    try:
        found = path.stat()
        if not path.is_file() or found.st_size > LARGEST_READ:
            return ()
        return _read(path, found.st_mtime_ns, found.st_size)
    except (OSError, ValueError):
        return ()


@lru_cache(maxsize=8)  # a form is updated with every letter typed into it
def _read(path: Path, _changed: int, _size: int) -> tuple[PythonFunction, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file's own style
            tree = ast.parse(read_code(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(_functions(tree))


def _functions(tree: ast.Module) -> Iterator[PythonFunction]:
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, node in found.items():
        if not name.startswith("_"):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            more = node.args.kwarg is not None
            yield PythonFunction(
                name, printable(first.strip()), tuple(_parameters(node.args)), more
            )


def _parameters(arguments: ast.arguments) -> Iterator[Parameter]:
    """Return those that can be given by name and that the trainer does not supply itself."""
    by_place = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(by_place) - len(arguments.defaults)), *arguments.defaults]
    pairs = list(zip(by_place, defaults, strict=True))[len(arguments.posonlyargs) :]
    for each, default in (*pairs, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if each.arg not in GIVEN:
            yield Parameter(each.arg, _value_of(default), _written(default))


def _written(default: ast.expr | None) -> str:
    """Return the default as written in the file, on one line; empty if there is none."""
    if default is None:
        return ""
    try:
        text = printable(ast.unparse(default))
    except (ValueError, RecursionError):
        return "…"
    return text if len(text) <= LONGEST_DEFAULT else f"{text[: LONGEST_DEFAULT - 1]}…"


def _value_of(default: ast.expr | None) -> Any:
    """Return the default as a plan would hold it.

    None if it has to be computed, or if a plan cannot hold such a value.
    """
    try:
        value = ast.literal_eval(default) if default is not None else None
        return read_toml(inline(value)) if value is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
