"""TOML that anybody may have written: plans, studies, settings, and what is typed into a field."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any

_DEEPEST = 48
_MOST_WORDS = 16
"""More words with dots between them than any key of ours has."""
_LARGEST = 10**4000
"""Python writes no whole number of more than 4,300 digits, but raises ValueError."""
_TOO_LARGE = "a whole number has more than 4,000 digits"
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
    NestedTooDeeplyError, otherwise ValueError as `tomllib.loads` does, and for a whole number of
    more than 4,000 digits.
    """
    keys = filter(None, (token["key"] for token in _TOKEN.finditer(text)))
    if any("." in key and len(re.findall(_WORD, key)) > _MOST_WORDS for key in keys):
        raise NestedTooDeeplyError("nested too deeply")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise NestedTooDeeplyError("nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python reads no more digits, but of those after 0x any number
        raise ValueError(_TOO_LARGE) from None
    level: list[Any] = [tables]
    for _ in range(_DEEPEST):
        values = [value for each in level for value in _values(each)]
        for value in values:
            if isinstance(value, int) and abs(value) > _LARGEST:
                raise ValueError(f"{_TOO_LARGE}: a number of {value.bit_length()} bits")
        level = [value for value in values if isinstance(value, dict | list)]
    if level:
        raise NestedTooDeeplyError("nested too deeply")
    return tables


def _values(each: Any) -> Iterable[Any]:
    """What stands in a table or a list."""
    values: Iterable[Any] = each.values() if isinstance(each, dict) else each
    return values
