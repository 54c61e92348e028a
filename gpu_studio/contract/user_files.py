"""The user's files that a plan names: Python files, their local imports, and what they define.

Python is parsed, and never executed. A module whose name or folder is computed at run time
(`importlib`, `sys.path`, `exec`) cannot be found this way: the trainer refuses it when it is
about to run. For a file or folder that is missing there is a guess where it is.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path

from gpu_studio.common.python_syntax import parsed
from gpu_studio.contract.consent import read_code, real_path
from gpu_studio.plan import AbsolutePlan, choose_one, reference, references_of
from gpu_studio.plan.scripts import FIT, fit_in, is_of_keras

MOST = 200
"""Files that are read at most: a folder of so many modules is allowed as a folder."""


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


def modules_beside(file: Path) -> list[Path]:
    """The files below the folder of `file` that it imports, also indirectly, in import order.

    Links are resolved to find that folder. A file that cannot be read imports nothing.
    """
    file = real_path(file)
    found: dict[Path, None] = {}
    todo = [file]
    while todo and len(found) < MOST:
        importing = todo.pop(0)
        for path in _imported_files(importing, file.parent):
            if path != file and path not in found:
                found[path] = None
                todo.append(path)
    return list(found)


def _imported_files(importing: Path, folder: Path) -> Iterator[Path]:
    try:
        code = read_code(importing)
    except (OSError, ValueError):
        return
    for level, name in imports_in(code):
        base = _folder_of_import(importing, level, folder)
        if base is not None:
            yield from _files_of(name, base)


def _folder_of_import(importing: Path, level: int, folder: Path) -> Path | None:
    """The folder where the search for an import begins; None if that is outside the code's folder.

    `level` is the number of leading dots.
    """
    if level == 0:
        return folder
    base = importing.parent
    for _ in range(level - 1):
        base = base.parent
    return base if base.is_relative_to(folder) else None


def _files_of(name: str, base: Path) -> Iterator[Path]:
    """The files that importing `a.b` runs: those of the parent packages, and the module's own."""
    at = base
    for part in name.split(".") if name else [""]:
        at = at / part
        package, module = at / "__init__.py", at.with_name(f"{at.name}.py")
        if package.is_file():
            yield package
        elif part and module.is_file():
            yield module
            return
        elif not at.is_dir():
            return


@lru_cache(maxsize=256)  # a plan that is being typed is checked at every keystroke
def imports_in(code: bytes) -> tuple[tuple[int, str], ...]:
    """Each import anywhere in a Python file: the number of leading dots, and the dotted name.

    `from a import b` may import the module `a.b`, and is `a.b`. A file that is not Python imports
    nothing.
    """
    try:
        tree = parsed(code)
        return tuple(dict.fromkeys(each for node in ast.walk(tree) for each in _named(node)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _named(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        yield from ((0, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        yield node.level, module
        yield from ((node.level, f"{module}.{alias.name}".strip(".")) for alias in node.names)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Reading:
    """The functions and classes that a file `defines` at top level, and other names it `binds`.

    `open` says that there may be names that parsing cannot find: from `import *`, or made by
    `__getattr__`. `problem` says why the file is not valid Python, with the line; empty if it is.
    `trains` is the line that trains as soon as the file is imported, 0 if none seems to. `script`
    says that the file calls `fit`, and that a plan may name that call.
    """

    defines: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    open: bool = False
    problem: str = ""
    trains: int = 0
    script: bool = False

    def lacks(self, function: str) -> str:
        """Why this file cannot provide `function`, and what it does define; empty if it may."""
        if self.open or function in self.defines or function in self.binds:
            return ""
        if self.script and function == FIT:
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
    for node in _run_by(tree.body, as_program=True):
        if isinstance(node, _DEFINITIONS):
            defines.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            binds += [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            binds.append(node.id)
    unseen = "*" in binds or "__getattr__" in defines
    return Reading(
        tuple(defines), tuple(binds), unseen, "", _trains_at(tree), fit_in(code) is not None
    )


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
    training = {each.name for each in functions if any(map(is_of_keras, _run_by(each.body)))}
    for node in _run_by(tree.body):
        if isinstance(node, ast.Call):
            calls = isinstance(node.func, ast.Name) and node.func.id in training
            if calls or is_of_keras(node):
                return node.lineno
    return 0


def _run_by(body: Sequence[ast.AST], *, as_program: bool = False) -> Iterator[ast.AST]:
    """All that runs with these statements, also under `if` or `try`, but not in inner functions.

    With `as_program` also what runs only if the file is started, and not imported.
    """
    todo = deque(body)
    while todo:
        node = todo.popleft()
        yield node
        if isinstance(node, ast.If | ast.IfExp) and not as_program and _asks_for_main(node.test):
            todo.extend(node.orelse if isinstance(node.orelse, list) else [node.orelse])
        elif not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


def _asks_for_main(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_asks_for_main, test.values))
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, *test.comparators)
    names = {each.id for each in sides if isinstance(each, ast.Name)}
    texts = {each.value for each in sides if isinstance(each, ast.Constant)}
    return len(sides) == 2 and names == {"__name__"} and texts == {"__main__"}


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
