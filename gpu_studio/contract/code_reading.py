"""Find what a user's Python file defines by parsing it; nothing in it is ever executed."""

from __future__ import annotations

import ast
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from gpu_studio.plan.problems import choose_one

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Reading:
    """The functions and classes that a file `defines` at top level, and other names it `binds`.

    `open` says that there may be names that parsing cannot find: from `import *`, or made by
    `__getattr__`. `problem` says why the file is not valid Python, with the line; empty if it is.
    """

    defines: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    open: bool = False
    problem: str = ""

    def lacks(self, function: str) -> str:
        """Why this file cannot provide `function`, and what it does define; empty if it may."""
        if self.open or function in self.defines or function in self.binds:
            return ""
        callable_names = [name for name in self.defines if not name.startswith("_")]
        if not callable_names:
            return f"the file defines no {function}, nor any other function"
        if len(callable_names) == 1:
            return f"the file defines no {function}: did you mean {callable_names[0]}?"
        return f"the file defines no {function}: {choose_one(function, callable_names)}"


@lru_cache(maxsize=8)  # a plan that is being typed is checked at every keystroke
def read_as_text(code: bytes) -> Reading:
    """Parse the Python file that holds `code`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file's own style
            tree = ast.parse(code)
    except SyntaxError as error:
        return Reading(problem=syntax_problem(error))
    except ValueError as error:
        return Reading(problem=f"it is no Python: {error}")
    except (
        RecursionError,
        MemoryError,
    ):  # nested too deeply to be taken apart, but perhaps not to be run
        return Reading(open=True)
    defines, binds = [], []
    for node in _at_top_level(tree):
        if isinstance(node, _DEFINITIONS):
            defines.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            binds += [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            binds.append(node.id)
    return Reading(tuple(defines), tuple(binds), "*" in binds or "__getattr__" in defines)


def syntax_problem(error: SyntaxError) -> str:
    """What is wrong with a file that is not valid Python, with the line."""
    text = " ".join((error.text or "").split())
    shown = f": {text[:60]}" if text.isprintable() and text else ""
    return (
        f"line {error.lineno} is no Python ({error.msg}){shown}"
        if error.lineno
        else f"it is no Python: {error.msg}"
    )


def _at_top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements that run with the file, also under `if` or `try`, but not in functions."""
    todo: deque[ast.AST] = deque([tree])
    while todo:
        node = todo.popleft()
        yield node
        if not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))
