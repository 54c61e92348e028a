"""Which module may import which, and which libraries: checked on the source, not by importing."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

BELOW = frozenset({"contract", "export", "hardware", "hosts", "lab", "placement", "plan", "runs"})
ROOMS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("common", "plan"), frozenset[str]()),
    **dict.fromkeys(("contract", "lab", "placement"), frozenset({"plan"})),
    "export": frozenset({"placement", "plan"}),
    "hardware": frozenset({"contract", "plan"}),
    "hosts": frozenset({"contract", "hardware", "plan"}),
    "runs": frozenset({"contract", "hardware", "hosts", "lab", "placement", "plan"}),
    "trainer": frozenset({"contract", "hosts", "placement", "plan"}),
    "ui": BELOW,
    "cli": BELOW | {"ui"},
}
"""What each room may import besides `common`, which all may.

And the start of the program imports the command line.
"""
WINGS: Mapping[str, frozenset[str]] = {
    "kit": frozenset(),
    "machine": frozenset({"kit"}),
    "devices": frozenset({"kit", "machine"}),
    "plan": frozenset({"kit", "machine"}),
    "train": frozenset({"kit", "machine"}),
    "runs": frozenset({"kit", "machine"}),
    "lab": frozenset({"kit", "machine"}),
    "window": frozenset({"devices", "kit", "lab", "machine", "plan", "runs", "train"}),
}
"""The same for the wings of the window: the pages meet in `window` only."""
START: Mapping[str, frozenset[str]] = {"__init__": frozenset(), "__main__": frozenset({"cli"})}
LIBRARIES: Mapping[str, str] = {
    "tensorflow": "trainer",
    "keras": "trainer",
    "pynvml": "hardware",
    "PySide6": "ui",
    "shiboken6": "ui",
    "pyqtgraph": "ui",
}
CALLED_FOR = ("import_module", "__import__")
"""What imports the module whose name it is given."""


@dataclass(frozen=True)
class Import:
    """One import.

    The file by its parts below the package, the line, the whole name, whether a function does it.
    """

    parts: tuple[str, ...]
    line: int
    module: str
    lazy: bool

    @property
    def room(self) -> str:
        """The room of the importing file."""
        return self.parts[0].removesuffix(".py")

    def __str__(self) -> str:
        return f"{'/'.join(self.parts)}:{self.line} imports {self.module}"


def violations(package: Path) -> list[str]:
    """Everything in the package that breaks a rule, a sentence each."""
    found = list(imports(package))
    return [
        *(f"{item}: {reason}" for item in found if (reason := _reason(item, package.name))),
        *_rooms_without_rule(package),
        *_more_than_one_nvml(found),
        *_circle(found, package.name),
    ]


def imports(package: Path) -> Iterator[Import]:
    """Every import of every file, those for the type checker included."""
    yield from _read(
        package, tuple((path, path.stat().st_mtime_ns) for path in sorted(package.rglob("*.py")))
    )


@lru_cache(maxsize=8)
def _read(package: Path, files: tuple[tuple[Path, int], ...]) -> tuple[Import, ...]:
    """The imports of these files as they were last changed.

    To parse the whole package takes seconds.
    """
    return tuple(imports_of(package, [path for path, _changed in files]))


def imports_of(package: Path, files: Iterable[Path]) -> Iterator[Import]:
    """Every import of these files of the package."""
    for path in files:
        parts = path.relative_to(package).parts
        nodes = list(_nodes(path))
        in_functions = _lines_in_functions(nodes)
        for node in nodes:
            for module in _modules(node, package, parts):
                line = getattr(node, "lineno", 0)
                yield Import(parts, line, module, line in in_functions)


def _nodes(path: Path) -> Iterator[ast.AST]:
    """All that may be an import or hold one: expressions only where one calls for a module.

    They are nine nodes of ten.
    """
    tree = parsed(path)
    if any(name in path.read_text(encoding="utf-8") for name in CALLED_FOR):
        yield from ast.walk(tree)
        return
    waiting: list[ast.AST] = [tree]
    for node in waiting:
        yield node
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            waiting += getattr(node, field, ())


def parsed(path: Path) -> ast.Module:
    """The source of a file.

    Nobody keeps it: the collector would look through whole packages of it after each later test.
    """
    # Nothing of a tree is garbage: looking for some meanwhile takes twice as long as parsing does.
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    finally:
        if collects:
            gc.enable()


def _modules(node: ast.AST, package: Path, parts: tuple[str, ...]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _base(node, package.name, parts)
        return sorted({_module(f"{base}.{alias.name}", base, package) for alias in node.names})
    if isinstance(node, ast.Call) and _called(node).endswith(CALLED_FOR):
        return [
            word.value
            for word in node.args[:1]
            if isinstance(word, ast.Constant) and isinstance(word.value, str)
        ]
    return []


def _called(node: ast.Call) -> str:
    """The last name of what is called, or nothing."""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _base(node: ast.ImportFrom, package: str, parts: tuple[str, ...]) -> str:
    if node.level == 0:
        return node.module or ""
    above = (package, *parts)[: -node.level]
    return ".".join((*above, node.module) if node.module else above)


def _module(whole: str, base: str, package: Path) -> str:
    """Of `from a import b` the module a.b, if the package has one, else a."""
    if not base.startswith(package.name):
        return base
    path = package.parent.joinpath(*whole.split("."))
    return whole if path.is_dir() or path.with_suffix(".py").exists() else base


def _lines_in_functions(nodes: list[ast.AST]) -> set[int]:
    functions = [
        node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return {
        line
        for node in functions
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _reason(item: Import, package: str) -> str | None:
    top, *rest = item.module.split(".")
    if top != package:
        home = LIBRARIES.get(top)
        return f"only {home}/ may" if home not in (None, item.room) else None
    return _reason_inside(item, tuple(rest) or ("__init__",))


def _reason_inside(item: Import, target: tuple[str, ...]) -> str | None:
    room = target[0]
    if room == item.room:
        return _reason_between_wings(item, target) if room == "ui" else None
    if room not in {**ROOMS, **START}.get(item.room, frozenset()) | {"common", "__init__"}:
        return f"{item.room} may not use {room}"
    if (item.room, room) == ("cli", "ui") and not item.lazy:
        return "the command line imports the window only inside the function that opens it"
    return None


def _reason_between_wings(item: Import, target: tuple[str, ...]) -> str | None:
    """A file of the window in no wing has no rule, and is found as one."""
    if len(item.parts) < 3 or len(target) < 2 or item.parts[1] == target[1]:
        return None
    allowed = target[1] in WINGS.get(item.parts[1], frozenset())
    return None if allowed else f"ui/{item.parts[1]} may not use ui/{target[1]}"


def _rooms_without_rule(package: Path) -> Iterator[str]:
    for path in sorted(package.iterdir()):
        is_room = path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py")))
        if is_room and path.stem not in {**ROOMS, **START}:
            yield f"{path.name} is a room without a rule of what it may import"
    for wing in sorted((package / "ui").glob("*")):
        if wing.stem not in {*WINGS, "__init__", "__pycache__"}:
            yield f"ui/{wing.name} is a wing without a rule of what it may import"


def _more_than_one_nvml(found: list[Import]) -> list[str]:
    files = sorted(
        {"/".join(item.parts) for item in found if item.module.split(".")[0] == "pynvml"}
    )
    return (
        [f"pynvml is imported in {' and '.join(files)}: one file is enough"]
        if len(files) > 1
        else []
    )


def _circle(found: list[Import], package: str) -> list[str]:
    """One circle of files that import one another, if there is any; an import for types counts."""
    arrows: dict[str, set[str]] = {}
    for item in found:
        file = _module_of(item, package)
        if item.module.startswith(package) and item.module != file:
            arrows.setdefault(file, set()).add(item.module)
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return [" imports ".join(reversed(error.args[1])) + ": a circle"]
    return []


def _module_of(item: Import, package: str) -> str:
    *above, file = item.parts
    name = file.removesuffix(".py")
    return ".".join((package, *above, *(() if name == "__init__" else (name,))))
