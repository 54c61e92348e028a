"""Plain values as YAML in block style: for files that people read, change and check in.

A writer of a few lines, since a library for it would be installed for this alone. What it
writes is held against PyYAML in the tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*", re.ASCII)
_OTHER_MEANING = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Words that are no text where they stand alone, in YAML 1.1 or 1.2, whatever their case."""


def yaml_text(documents: Iterable[Mapping[str, Any]]) -> str:
    """The documents, one after the other. Takes texts, numbers, booleans, lists and mappings."""
    return "---\n".join("\n".join(_mapping(each)) + "\n" for each in documents)


def _mapping(value: Mapping[str, Any]) -> Iterator[str]:
    for key, each in value.items():
        yield from _entry(f"{_scalar(key)}:", each)


def _sequence(value: Sequence[Any]) -> Iterator[str]:
    for each in value:
        if isinstance(each, Mapping) and each:
            first, *rest = _mapping(each)
            yield f"- {first}"
            yield from _indented(rest)
        else:
            yield f"- {_scalar(each)}"


def _entry(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield key
        yield from _indented(_mapping(value))
    elif isinstance(value, list | tuple) and value:
        yield key
        yield from _indented(_sequence(value))
    elif isinstance(value, str) and _is_block(value):
        yield f"{key} |"
        yield from _indented(value.removesuffix("\n").split("\n"))
    else:
        yield f"{key} {_scalar(value)}"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)


def _is_block(text: str) -> bool:
    """Whether it can stand as it is: lines of visible characters, with one line end at its end."""
    lines = text.split("\n")
    whole = len(lines) > 2 and not lines[-1] and bool(lines[-2]) and bool(lines[0])
    return whole and not lines[0].startswith(" ") and all(map(_is_visible, lines))


def _is_visible(line: str) -> bool:
    return line.isprintable() and line == line.rstrip()


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _OTHER_MEANING:
            return value
        return _quoted(value)
    if isinstance(value, bool | int | float | None):
        return json.dumps(value)
    return "{}" if isinstance(value, Mapping) else "[]"


def _quoted(text: str) -> str:
    """The text in double quotes, with YAML's escapes, of which JSON's are a part."""
    return "".join(
        each if each.isprintable() else f"\\U{ord(each):08x}"
        for each in json.dumps(text, ensure_ascii=False)
    )
