"""How large files and functions of the package are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import import_rules

import gpu_studio

PACKAGE = Path(gpu_studio.__file__).parent
MOST_OF_FILE, MOST_OF_FUNCTION = 450, 40


def too_large(package: Path) -> Iterator[str]:
    """The files and functions with more lines than they may have."""
    for path in sorted(package.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > MOST_OF_FILE:
            yield f"{path.relative_to(package)} has {lines} lines"
        for node in ast.walk(import_rules.parsed(path)) if lines > MOST_OF_FUNCTION else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > MOST_OF_FUNCTION:
                    yield f"{path.relative_to(package)}: {node.name} has {length} lines"


def test_that_files_and_functions_are_short():
    assert [*too_large(PACKAGE)] == []


def test_that_long_files_and_functions_are_found(tmp_path):
    (tmp_path / "long.py").write_text("def long():\n" + "    pass\n" * 40)
    (tmp_path / "longer.py").write_text("pass\n" * 451)
    assert [*too_large(tmp_path)] == ["long.py: long has 41 lines", "longer.py has 451 lines"]
