"""TOML that anybody may have written: plans, studies, settings, and what is typed into a field."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any

_DEEPEST = 48
_MOST_WORDS = 16
"""More words with dots between them than any key of ours has."""
_WORD = r"""[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'"""
_TOKEN = re.compile(
    r'''#[^\n]*+|"""(?:[^"\\]|\\.|"(?!""))*+"""'''
    r"""|'''(?:[^']|'(?!''))*+'''"""
    rf"|(?P<key>(?:{_WORD})(?:[ \t]*+\.[ \t]*+(?:{_WORD}))*+)",
    re.DOTALL,
)
"""A comment, a text of several lines, or what may be a key."""


class NestedTooDeeplyError(ValueError):
    """Tables or lists stand within each other more often than any file of ours needs."""


def toml_tables(text: str) -> dict[str, Any]:
    """Parse TOML that anybody may have written, in memory that grows with its length only.

    `tomllib` keeps every beginning of a key with dots: one of 200 KB would take all memory. Raises
    NestedTooDeeplyError, and otherwise ValueError as `tomllib.loads` does.
    """
    keys = filter(None, (token["key"] for token in _TOKEN.finditer(text)))
    if any("." in key and len(re.findall(_WORD, key)) > _MOST_WORDS for key in keys):
        raise NestedTooDeeplyError("nested too deeply")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise NestedTooDeeplyError("nested too deeply") from None
    level: list[Any] = [tables]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in _within(each)]
    if level:
        raise NestedTooDeeplyError("nested too deeply")
    return tables


def _within(value: Any) -> Iterable[Any]:
    """The tables and lists in a table or a list."""
    every = value.values() if isinstance(value, dict) else value
    return (each for each in every if isinstance(each, dict | list))
