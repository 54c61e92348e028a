"""Who may import whom in the package, and which outside library is whose: read from the source, nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FRONT_ENDS_USE = frozenset({"runs", "export", "hardware", "placement", "plan"})
ROOMS: Mapping[str, frozenset[str]] = {
    "plan": frozenset(),
    "hardware": frozenset({"plan"}),
    "placement": frozenset({"plan"}),
    "runs": frozenset({"hardware", "plan"}),
    "export": frozenset({"placement", "plan"}),
    "trainer": frozenset({"placement", "plan", "runs"}),
    "ui": FRONT_ENDS_USE,
    "cli": FRONT_ENDS_USE | {"ui"},
    "__main__": frozenset({"cli"}),
    "resource_files": frozenset(),
    "own_processes": frozenset(),
    "interrupts": frozenset(),
    "image_folders": frozenset({"plan"}),
    "output_files": frozenset(),
    "regular_files": frozenset(),
    "csv_text": frozenset(),
    "user_paths": frozenset(),
    "thousands": frozenset(),
    "steady": frozenset(),
    "__init__": frozenset(),
}
# What every room may use: the version, the place of the bundled files, how to start a process of ours, Ctrl+C, what a
# folder of images is, how a file is written that a person asked for, how one is opened that anybody may have put there,
# a line of CSV, what `~` means, and how a large number is written.
COMMON = frozenset(
    {
        "__init__",
        "resource_files",
        "own_processes",
        "interrupts",
        "image_folders",
        "output_files",
        "regular_files",
        "csv_text",
        "user_paths",
        "thousands",
        "steady",
    }
)
# What the run directory holds, and nothing of those who start, follow or list runs.
TRAINER_USES_OF_RUNS = frozenset(
    {
        "events",
        "event_parts",
        "event_writer",
        "commands",
        "directory",
        "files",
        "lock",
        "checkpoints",
        "inheritance",
        # Whether code of the user's own may run is decided where it would.
        "consent",
        "code_reading",
        "own_modules",
        "failures.failure_mends",
        "failures.failure_texts",
        "failures.full_disk",
        "failures.lost_device",
        "failures.nearest_file",
    }
)
# What a recording says, and which card is which: nothing that asks a driver or starts a process.
RUNS_USES_OF_HARDWARE = frozenset({"accounting", "card_account", "identity", "samples", "alerts"})
LIBRARIES: Mapping[str, str] = {
    "tensorflow": "trainer",
    "keras": "trainer",
    "pynvml": "hardware",
    "PySide6": "ui",
    "shiboken6": "ui",
    "pyqtgraph": "ui",
}


@dataclass(frozen=True)
class Import:
    """One import: the file by its parts below the package, the line, the whole name, whether a function does it."""

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
    ]


def imports(package: Path) -> Iterator[Import]:
    """Every import of every file, those for the type checker included."""
    yield from _read(package, tuple((path, path.stat().st_mtime_ns) for path in sorted(package.rglob("*.py"))))


@lru_cache(maxsize=8)
def _read(package: Path, files: tuple[tuple[Path, int], ...]) -> tuple[Import, ...]:
    """The imports of these files as they were last changed: to parse the whole package takes seconds."""
    return tuple(_imports_of(package, [path for path, _changed in files]))


def _imports_of(package: Path, files: list[Path]) -> Iterator[Import]:
    for path in files:
        parts = path.relative_to(package).parts
        tree = parsed(path)
        in_functions = _lines_in_functions(tree)
        for node in ast.walk(tree):
            for module in _modules(node, package, parts):
                line = getattr(node, "lineno", 0)
                yield Import(parts, line, module, line in in_functions)


def parsed(path: Path) -> ast.Module:
    """The source of a file, parsed once for all rules."""
    return _parsed(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4096)
def _parsed(path: Path, _changed: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _modules(node: ast.AST, package: Path, parts: tuple[str, ...]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _base(node, package.name, parts)
        return sorted({_module(f"{base}.{alias.name}", base, package) for alias in node.names})
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
        return [word.value for word in node.args[:1] if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    return []


def _base(node: ast.ImportFrom, package: str, parts: tuple[str, ...]) -> str:
    if node.level == 0:
        return node.module or ""
    above = (package, *parts)[: -node.level]
    return ".".join((*above, node.module) if node.module else above)


def _module(whole: str, base: str, package: Path) -> str:
    """Of `from a import b` the module a.b, if there is one, else a."""
    path = package.parent.joinpath(*whole.split("."))
    return whole if path.is_dir() or path.with_suffix(".py").exists() else base


def _lines_in_functions(tree: ast.Module) -> set[int]:
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {line for node in functions for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _reason(item: Import, package: str) -> str | None:
    top, *rest = item.module.split(".")
    if top != package:
        home = LIBRARIES.get(top)
        return f"only {home}/ may" if home not in (None, item.room) else None
    return _reason_inside(item, tuple(rest) or ("__init__",))


def _reason_inside(item: Import, target: tuple[str, ...]) -> str | None:
    room = target[0]
    if room == item.room:
        return _reason_between_pages(item, target)
    if room not in ROOMS.get(item.room, frozenset()) | COMMON:
        return f"{item.room} may not use {room}"
    if (item.room, room) == ("cli", "ui") and not item.lazy:
        return "the command line imports the window only inside the function that opens it"
    if (item.room, room) == ("trainer", "runs") and ".".join(target[1:]) not in TRAINER_USES_OF_RUNS:
        return f"of runs the trainer uses only {', '.join(sorted(TRAINER_USES_OF_RUNS))}"
    if (item.room, room) == ("runs", "hardware") and target[1:2] not in {(name,) for name in RUNS_USES_OF_HARDWARE}:
        return f"of hardware runs use only {', '.join(sorted(RUNS_USES_OF_HARDWARE))}"
    return None


def _reason_between_pages(item: Import, target: tuple[str, ...]) -> str | None:
    between = item.parts[:2] == target[:2] == ("ui", "pages") and len(target) > 2
    return "pages meet in the main window only" if between and _page(item.parts[2]) != _page(target[2]) else None


def _page(name: str) -> str:
    """The page that a file or folder in ui/pages belongs to: train_page.py and train/ are one."""
    return name.removesuffix(".py").removesuffix("_page")


def _rooms_without_rule(package: Path) -> Iterator[str]:
    for path in sorted(package.iterdir()):
        is_room = path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py")))
        if is_room and path.stem not in ROOMS:
            yield f"{path.name} is a room without a rule of what it may import"


def _more_than_one_nvml(found: list[Import]) -> list[str]:
    files = sorted({"/".join(item.parts) for item in found if item.module.split(".")[0] == "pynvml"})
    return [f"pynvml is imported in {' and '.join(files)}: one file is enough"] if len(files) > 1 else []
