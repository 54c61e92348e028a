"""The names of the package's own things, read from the source."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

import import_rules

import gpu_studio

PACKAGE = Path(gpu_studio.__file__).parent
TESTS = Path(__file__).parent
MOST_PRIVATE = 50
"""Tests that reach into objects resist every change of what is inside."""

PRIVATE = re.compile(r"(?<!\bself)(?<!\bcls)\._(?!_)")
CLASS = re.compile(r"^\s*class\s+([A-Za-z]\w*)", re.MULTILINE)


def homes_of_shared_names(package: Path) -> dict[str, list[str]]:
    """The files that define a public class whose name another one has, each as often as it does.

    Only files that may are parsed: all of them take seconds.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    begun = {path: CLASS.findall(text) for path, text in texts.items()}
    counts = Counter(name for names in begun.values() for name in names)
    homes: dict[str, list[str]] = defaultdict(list)
    for path, names in begun.items():
        if any(counts[name] > 1 for name in names):
            for node in ast.walk(import_rules.parsed(path)):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(str(path.relative_to(package)))
    return {name: found for name, found in homes.items() if len(found) > 1}


def test_that_no_two_public_classes_share_a_name():
    assert homes_of_shared_names(PACKAGE) == {}


def test_that_a_name_given_twice_is_found_with_both_files(tmp_path):
    (tmp_path / "first.py").write_text("class Line:\n    pass\n\n\nclass _Part:\n    pass\n")
    (tmp_path / "second.py").write_text("class _Part:\n    pass\n\n\nclass Line:\n    pass\n")
    (tmp_path / "third.py").write_text("class Other:\n    pass\n")

    assert homes_of_shared_names(tmp_path) == {"Line": ["first.py", "second.py"]}


def private_attributes(folder: Path) -> list[str]:
    """Where the tests in a folder touch a private attribute of something else than themselves."""
    return [
        f"{path.relative_to(folder)}:{node.lineno} {node.attr}"
        for path in sorted(folder.rglob("test_*.py"))
        if PRIVATE.search(path.read_text(encoding="utf-8"))
        for node in ast.walk(import_rules.parsed(path))
        if isinstance(node, ast.Attribute) and PRIVATE.match(f".{node.attr}")
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]


def test_that_tests_touch_few_private_attributes():
    found = private_attributes(TESTS)
    assert len(found) <= MOST_PRIVATE, "\n".join(found)


def test_that_private_attributes_are_found_but_for_those_of_the_test_itself(tmp_path):
    text = "class Fake:\n    def call(self):\n        self._mine = self.other._theirs.__dict__\n"
    (tmp_path / "test_it.py").write_text(text)

    assert private_attributes(tmp_path) == ["test_it.py:3 _theirs"]
