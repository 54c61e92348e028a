"""The names of the package's own things, read from the source."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import import_rules
import pytest

import gpu_studio

PACKAGE = Path(gpu_studio.__file__).parent


def homes_of_classes(package: Path) -> dict[str, list[str]]:
    """The files that define a public class, by its name, each file as often as it does."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(import_rules.parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(package)))
    return homes


@pytest.mark.slow
def test_that_no_two_public_classes_share_a_name():
    assert {
        name: homes for name, homes in homes_of_classes(PACKAGE).items() if len(homes) > 1
    } == {}


def test_that_a_name_given_twice_is_found_with_both_files(tmp_path):
    (tmp_path / "first.py").write_text("class Line:\n    pass\n\n\nclass _Part:\n    pass\n")
    (tmp_path / "second.py").write_text("class _Part:\n    pass\n\n\nclass Line:\n    pass\n")

    assert homes_of_classes(tmp_path) == {"Line": ["first.py", "second.py"]}
