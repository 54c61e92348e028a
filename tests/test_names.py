"""The names of the package's own things, read from the source."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import import_rules

import gpu_studio

PACKAGE = Path(gpu_studio.__file__).parent
TESTS = Path(__file__).parent
MOST_PRIVATE = 50
"""Tests that reach into objects resist every change of what is inside."""

GONE = frozenset(
    {"told", "untold", "ways", "room", "rooms", "scene", "scenes", "holding"}
    | {"deed", "deeds", "meeting", "meetings", "modesty", "bequeath"}
)
"""Words that stood for many things each: a name says which of them it means."""
KEPT = frozenset({"room_bytes"})
"""Keys of what `--json` prints."""
PART = re.compile(r"_|(?<=[a-z])(?=[A-Z])")
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


def names_with(words: frozenset[str], package: Path) -> list[str]:
    """Where a name in the package has one of these words in it: `file.py:3 told_apart`."""
    any_of = re.compile("|".join(sorted(words)), re.IGNORECASE)
    return [
        f"{path.relative_to(package)}:{line} {name}"
        for path in sorted(package.rglob("*.py"))
        if any_of.search(f"{path.stem} {(text := path.read_text(encoding='utf-8'))}")
        for line, name in [(0, path.stem), *names_in(text)]
        if words & {part.lower() for part in PART.split(name)} and name not in KEPT
    ]


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """The names in a source text, each with its line, without what stands in strings."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def test_that_no_name_has_a_word_that_stands_for_many_things():
    assert names_with(GONE, PACKAGE) == []


def test_that_such_words_are_found_in_names_and_not_in_texts(tmp_path):
    text = '"""It is told."""\nclass RoomBar:\n    told_apart = "room"\n    mushroom = {}\n'
    (tmp_path / "file.py").write_text(text)
    (tmp_path / "both_ways.py").write_text("")
    found = ["both_ways.py:0 both_ways", "file.py:2 RoomBar", "file.py:3 told_apart"]
    assert names_with(GONE, tmp_path) == found


def test_that_the_glossary_has_at_most_fifteen_words():
    text = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    glossary = text.partition("\n## Glossary\n")[2].partition("\n## ")[0]
    assert 10 <= len(re.findall(r"^\| \*\*", glossary, re.MULTILINE)) <= 15


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
