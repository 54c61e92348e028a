"""The user's files that a plan names: Python files, their local imports, and what they define.

Python is parsed, and never executed. For a file or folder that is missing there is a guess where it
is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path

from gpu_studio.common.python_syntax import DEFINITIONS, parsed, run_by
from gpu_studio.plan import AbsolutePlan, choose_one, reference, references_of
from gpu_studio.plan.local_modules import modules_beside
from gpu_studio.plan.scripts import is_of_keras


def code_files(plan: AbsolutePlan) -> list[Path]:
    """The Python files that `plan` names, and those that they import, each once.

    Those that the plan names may be missing.
    """
    named = named_files(plan)
    return list(
        dict.fromkeys((*named, *(module for file in named for module in modules_beside(file))))
    )


def named_files(plan: AbsolutePlan) -> list[Path]:
    """The Python files that `plan` names, each once. They may be missing."""
    named = [found for _field, text in references_of(plan) if (found := reference(text))]
    return list(dict.fromkeys(Path(each.file) for each in named))


@dataclass(frozen=True, slots=True)
class Reading:
    """The functions and classes that a file `defines` at top level, and other names it `binds`.

    `open` says that there may be names that parsing cannot find: from `import *`, or made by
    `__getattr__`. `problem` says why the file is not valid Python, with the line; empty if it is.
    `trains` is the line that trains as soon as the file is imported, 0 if none seems to.
    """

    defines: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    open: bool = False
    problem: str = ""
    trains: int = 0

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
        tree = parsed(code)
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
    for node in run_by(tree.body, as_program=True):
        if isinstance(node, DEFINITIONS):
            defines.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            binds += [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            binds.append(node.id)
    unseen = "*" in binds or "__getattr__" in defines
    return Reading(tuple(defines), tuple(binds), unseen, "", _trains_at(tree))


def syntax_problem(error: SyntaxError) -> str:
    """What is wrong with a file that is not valid Python, with the line."""
    text = " ".join((error.text or "").split())
    shown = f": {text[:60]}" if text.isprintable() and text else ""
    return (
        f"line {error.lineno} is no Python ({error.msg}){shown}"
        if error.lineno
        else f"it is no Python: {error.msg}"
    )


def _trains_at(tree: ast.Module) -> int:
    """The line of a `fit` that runs when the file is imported, or of a call of what has one."""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    training = {each.name for each in functions if any(map(is_of_keras, run_by(each.body)))}
    for node in run_by(tree.body):
        if isinstance(node, ast.Call):
            calls = isinstance(node.func, ast.Name) and node.func.id in training
            if calls or is_of_keras(node):
                return node.lineno
    return 0


# A data folder may hold a million files: a hint is not worth reading them all.
MOST_NAMES = 2000


def hint(missing: Path, *, folders: bool = False) -> str:
    """Text to append to "`missing` does not exist": `; did you mean X?`, or nothing."""
    found = nearest_file(missing, folders=folders)
    return f"; did you mean {found}?" if found else ""


def nearest_file(missing: Path, *, folders: bool = False) -> Path | None:
    """The existing file most likely meant by a missing path, or of `folders` the folder; or None.

    Searches for a similar name of the same kind in the same folder, then the same name in the
    parent folder and in sibling folders. What cannot be read is skipped.
    """
    is_one = _is_folder if folders else _is_file
    names = [path.name for path in _entries(missing.parent) if path.suffix == missing.suffix]
    close = [missing.parent / name for name in get_close_matches(missing.name, names)]
    return next((path for path in (*close, *_elsewhere(missing)) if is_one(path)), None)


def _elsewhere(missing: Path) -> Iterator[Path]:
    above = missing.parent.parent
    yield above / missing.name
    for folder in (missing.parent, above):
        yield from (entry / missing.name for entry in _entries(folder) if entry.is_dir())


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(islice(folder.iterdir(), MOST_NAMES))
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
