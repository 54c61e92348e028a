"""Find the line of a plan file that a problem is about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_studio.plan.problems import Problem

_TOLD = re.compile(r", line (\d+)")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)
_PART = re.compile(r"\"[^\"]*\"|'[^']*'|[^.\s\[\]]+")

Path = tuple[str, ...]


def line_of(text: str, problem: Problem) -> int | None:
    """The line of `text`, from 1, that a problem is about; None if it is about no single line.

    A TOML syntax error gives its own line. Otherwise it is the line of the field, or of the
    innermost table around it that is present. Keys are looked for as they are usually written: a
    multi-line string may mislead it.
    """
    if reported := _TOLD.search(problem.field):
        return int(reported.group(1))
    wanted, best, line = _parts(problem.field), 0, None
    for number, path in _written(text):
        common = _common(path, wanted)
        if common == len(path) and common > best:
            best, line = common, number
    return line


def _written(text: str) -> Iterator[tuple[int, Path]]:
    """The line number and path of each line that opens a table or sets a key."""
    table: Path = ()
    lists: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _parts(header.group(2))
            if header.group(1) == "[[":
                lists[table] = lists.get(table, -1) + 1
                table = (*table, str(lists[table]))
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, *_parts(key.group(1)))


def _parts(field: str) -> Path:
    """Split `devices.carve[0].device` into `devices`, `carve`, `0`, `device`."""
    return tuple(
        part.strip("\"'") for part in _PART.findall(field.replace("[", ".").replace("]", ""))
    )


def _common(one: Path, other: Path) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
