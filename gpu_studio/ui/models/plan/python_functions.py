"""The functions that a Python file defines, read as text: nothing of it is run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gpu_studio.plan.problems import printable
from gpu_studio.runs.consent import read_code

LARGEST_READ = 512 * 1024
"""Bytes of the largest file that is read for its functions: one that is larger would hold the window up."""
GIVEN = ("input_shape", "outputs", "classes", "seed")
"""Parameters that the trainer gives by itself."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function at the top level of a file; `hint` is its docstring's first line, `options` what it can be given."""

    name: str
    hint: str = ""
    options: tuple[str, ...] = ()


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
            yield Function(name, printable(first.strip()), tuple(_options(node.args)))


def _options(arguments: ast.arguments) -> Iterator[str]:
    for each in (*arguments.args, *arguments.kwonlyargs):
        if each.arg not in GIVEN:
            yield each.arg
