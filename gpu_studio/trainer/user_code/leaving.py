"""Compile the user's code so that a script which ends at its `fit` leaves without a further step.

What ends it is an exception, after which a script of its own goes on in `finally` and `__exit__`,
where it may save a model that is not trained, and in an `except:` for everything, where it may try
again for ever. Each such block leaves at once, if that exception is why it is entered. What `with`
would close stays open: a run goes on to read from it.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from gpu_studio.common.python_syntax import parsed


def compiled(text: bytes, name: str, package: str = "") -> CodeType:
    """Compile the text of the file of this name. Raises as `compile` does.

    With `package` it imports, once executed, as a module of that package.
    """
    code = compile(text, name, "exec", dont_inherit=True)
    leaves = any(each in text for each in (b"finally", b"except", b"exit__", b"with"))
    if not leaves and not package:
        return code
    tree = leaving_at_fit(parsed(text)) if leaves else parsed(text)
    if package:
        _import_from(package, tree)
    return compile(tree, name, "exec", dont_inherit=True)


def _import_from(package: str, tree: ast.Module) -> None:
    """Have a file that is executed by itself say in which package it is."""
    said = parsed(f"__package__ = {package!r}").body[0]
    # A docstring is the first of all, and what is imported from the future comes before the rest.
    documented = ast.get_docstring(tree, clean=False) is not None
    futures = [
        place
        for place, each in enumerate(tree.body)
        if isinstance(each, ast.ImportFrom) and each.module == "__future__"
    ]
    tree.body.insert(max(futures) + 1 if futures else int(documented), said)


# These are also written into exported scripts, as they are.


def leaving_at_fit(tree: ast.Module) -> ast.Module:
    """Have each block leave at once that is entered because a script ends at its fit.

    It may save a model that is not trained, or try again for ever.
    """
    vars(builtins)["__fit_was_called__"] = fit_was_called
    vars(builtins)["__staying_open__"] = staying_open
    for node in ast.walk(tree):
        blocks: list[list[ast.stmt]] = []
        if isinstance(node, ast.Try | ast.TryStar):
            blocks = [node.finalbody, *(each.body for each in node.handlers)]
        elif isinstance(node, ast.FunctionDef) and node.name == "__exit__":
            blocks = [node.body]
        for item in node.items if isinstance(node, ast.With) else ():
            name = ast.Name("__staying_open__", ast.Load())
            opened = ast.Call(name, [item.context_expr], [])
            ast.copy_location(opened, item.context_expr)
            item.context_expr = ast.fix_missing_locations(opened)
        for block in filter(None, blocks):
            asked = ast.Call(ast.Name("__fit_was_called__", ast.Load()), [], [])
            leave = ast.copy_location(ast.If(asked, [ast.Raise()], []), block[0])
            block.insert(0, ast.fix_missing_locations(leave))
    return tree


def fit_was_called() -> bool:
    """Return whether what is being handled is the end of a script at its fit."""
    kind = sys.exc_info()[0]
    return kind is not None and kind.__qualname__ == "call_of_fit.<locals>.CalledError"


def staying_open(manager: Any) -> Any:
    """Return what a script that ends at its fit leaves open: fit may be given what reads it.

    That is a file, a folder that would be removed, or a pool; all else is left as ever.
    """
    if not any(hasattr(manager, each) for each in ("close", "cleanup", "shutdown")):
        return manager

    class StaysOpen:
        def __enter__(self) -> Any:
            return manager.__enter__()

        def __exit__(self, *raised: Any) -> Any:
            if not fit_was_called():
                return manager.__exit__(*raised)
            return vars(builtins).setdefault("__left_open__", []).append(manager)

    return StaysOpen()


def registering_of_others(path: str) -> Callable[..., Any]:
    """Return what stands for `atexit.register`: it takes nothing of the script at this path.

    Nor of what lies beside the script. At the end that might save a model that is not trained.
    """
    register, folder = atexit.register, Path(path).parent

    def instead(function: Any, *given: Any, **named: Any) -> Any:
        caller = Path(inspect.stack(0)[1].filename)
        own = caller.is_relative_to(folder) and "site-packages" not in caller.parts
        return function if own else register(function, *given, **named)

    return instead
