"""Python files of the user's own, and the modules beside them: read, and never executed.

A module whose name or folder is computed at run time (`importlib`, `sys.path`, `exec`) cannot be
found this way: the trainer refuses it when it is about to run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from gpu_studio.common.figures import size
from gpu_studio.common.paths import real_path
from gpu_studio.common.python_syntax import parsed
from gpu_studio.common.safe_files import opened

MOST = 200
"""Files that are read at most: a folder of so many modules is allowed as a folder."""
LONGEST_CODE = 1024 * 1024
"""Bytes of the largest file that is taken for a program that a person wrote."""


def read_code(path: Path) -> bytes:
    """The content of the Python file at `path`.

    Raises OSError, also for what is not a regular file and for a file too long to be a program.
    """
    with opened(path, follow=True) as file:
        code = file.read(LONGEST_CODE + 1)
    if len(code) > LONGEST_CODE:
        raise OSError(
            f"it is larger than {size(LONGEST_CODE)}, and so no program that a person wrote"
        )
    return code


def code_folder(file: Path, code: bytes) -> Path:
    """The folder from which what `file` imports is searched, its links resolved: its own.

    A file that imports what is there with leading dots, or by the name of a folder that it is in,
    is meant to be started as `python -m package.file`: then it is that of the topmost package.
    """
    file = real_path(file)
    folders, imports = file.parents, imports_in(code)
    levels = [level for level, name in imports if level and _is_there(name, folders, level)]
    place = max(levels, default=0)
    while place and place < len(folders) - 1 and (folders[place] / "__init__.py").is_file():
        place += 1
    for at in range(place, len(folders) - 1):
        if any(_is_meant(name, folders[at]) for level, name in imports if level == 0):
            place = at + 1
    # No module is found in a folder whose name has a dot.
    named = place < len(folders) and not any("." in each.name for each in folders[:place])
    return folders[place] if named else folders[0]


def _is_there(name: str, folders: Sequence[Path], level: int) -> bool:
    """Whether an import with so many leading dots finds a file; `folders` are from its file up."""
    return level < len(folders) and any(_files_of(name, folders[level - 1]))


def _is_meant(name: str, package: Path) -> bool:
    """Whether an import of `a.b` means the module `b` in this folder `a`."""
    first, _, inner = name.partition(".")
    return bool(inner) and first == package.name and any(_files_of(inner, package))


def package_of(file: Path, folder: Path) -> str:
    """The dotted name of the package of a file, seen from `folder`; empty if the file is there."""
    return ".".join(real_path(file).parent.relative_to(folder).parts)


def modules_beside(file: Path) -> list[Path]:
    """The files below the `code_folder` of `file` that it imports, also indirectly, in order.

    A file that cannot be read imports nothing.
    """
    file = real_path(file)
    try:
        folder = code_folder(file, read_code(file))
    except (OSError, ValueError):
        return []
    package = package_of(file, folder)
    found = dict.fromkeys(_files_of(package, folder) if package else ())
    todo = [file, *found]
    while todo and len(found) < MOST:
        importing = todo.pop(0)
        for path in _imported_files(importing, folder):
            if path != file and path not in found:
                found[path] = None
                todo.append(path)
    return list(found)


def files_of_import(importing: Path, level: int, name: str, folder: Path) -> list[Path]:
    """The files in and below `folder` that an import in `importing` runs.

    `level` is the number of its leading dots.
    """
    base = _folder_of_import(real_path(importing), level, folder)
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
