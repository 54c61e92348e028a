"""Values of a plan as Python source.

Whatever a value holds, it stays a value and never becomes code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def literal(value: Any) -> str:
    """`value` as an expression that gives an equal value, spelled as `ruff format` spells it.

    Takes None, booleans, numbers, texts, and lists, tuples and mappings of them. Raises TypeError
    for anything else.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool | int | None):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(key)}: {literal(each)}' for key, each in value.items())}}}"
    raise TypeError(f"there is no literal for a {type(value).__name__}")


def comment(text: str) -> str:
    """Return `text` as the rest of a comment line.

    Line ends and invisible characters are escaped.
    """
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _text(value: str) -> str:
    # Double quotes, unless single ones need fewer escapes: the rule of `ruff format`.
    quote = "'" if value.count('"') > value.count("'") else '"'
    return (
        quote
        + "".join(f"\\{each}" if each in (quote, "\\") else _shown(each) for each in value)
        + quote
    )


def _shown(character: str) -> str:
    return character if character.isprintable() else _escape(character)


def _escape(character: str) -> str:
    return repr(character)[1:-1]
