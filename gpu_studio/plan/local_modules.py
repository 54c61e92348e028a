"""The modules beside a Python file that it imports: found by reading, and never executed.

A module whose name or folder is computed at run time (`importlib`, `sys.path`, `exec`) cannot be
found this way: the trainer refuses it when it is about to run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gpu_studio.common.paths import real_path
from gpu_studio.common.python_syntax import parsed, read_code

MOST = 200
"""Files that are read at most: a folder of so many modules is allowed as a folder."""


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


def files_of_import(importing: Path, level: int, name: str) -> list[Path]:
    """The files beside `importing` that an import in it runs; `level` is the number of its dots."""
    importing = real_path(importing)
    base = _folder_of_import(importing, level, importing.parent)
    return [] if base is None else list(_files_of(name, base))


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
