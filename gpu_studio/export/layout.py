"""Break calls and lists into lines as `ruff format` does, so that a script needs no formatter."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpu_studio.export.literals import literal

WIDTH = 88
"""Columns of a line: what `ruff format` allows where nothing is configured."""
_STEP = 4
# Comment lines that form a paragraph: none is empty, and none is indented as examples are.
_COMMENT = re.compile(r"^(?P<indent> *)# (?! ).*(?:\n(?P=indent)# (?! ).*)*", re.MULTILINE)


def call(
    before: str, function: str, arguments: Sequence[str], *, after: str = "", indent: int = 0
) -> str:
    """Return `before` + `function(arguments)` + `after` in as few lines as fit.

    The first line is assumed to be indented by `indent`. The returned lines are not indented: that
    is left to the caller.
    """
    together = ", ".join(arguments)
    first, last = f"{before}{function}({together})(", after.removeprefix("(")
    if (
        after
        and "\n" not in first
        and width(first + last) + indent > WIDTH >= width(first) + indent
    ):
        return f"{first}\n{indented(last.removesuffix(')'), _STEP)}\n)"
    return _broken(
        f"{before}{function}(", together, arguments, f"){after}", indent, together_too=True
    )


def definition(function: str, parameters: Sequence[str]) -> str:
    """Return the first line or lines of a function."""
    return _broken(
        f"def {function}(", ", ".join(parameters), parameters, "):", 0, together_too=True
    )


def listing(before: str, items: Sequence[str], *, after: str = "", indent: int = 0) -> str:
    """`before` + `[items]` + `after`, on one line or with one line for each item."""
    return _broken(f"{before}[", ", ".join(items), items, f"]{after}", indent, together_too=False)


def options(given: Mapping[str, Any]) -> list[str]:
    """Keyword arguments with literal values."""
    return [f"{key}={literal(value)}" for key, value in given.items()]


def indented(text: str, columns: int) -> str:
    """Return `text` with each non-empty line indented."""
    return "\n".join(" " * columns + line if line else line for line in text.split("\n"))


def _broken(
    opening: str,
    together: str,
    items: Sequence[str],
    closing: str,
    indent: int,
    *,
    together_too: bool,
) -> str:
    simple = "\n" not in together
    if not items or (simple and width(opening + together + closing) + indent <= WIDTH):
        return opening + together + closing
    if together_too and simple and (len(items) == 1 or width(together) + indent + _STEP <= WIDTH):
        return f"{opening}\n{indented(together, _STEP)}\n{closing}"
    return "\n".join([opening, *(indented(f"{item},", _STEP) for item in items), closing])


def width(text: str) -> int:
    """Return the columns that a text takes in a terminal."""
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def sentences(lines: Iterable[str]) -> str:
    """Return lines as a comment."""
    return "\n".join(f"# {line}" if line else "#" for line in lines)


def with_comments_wrapped(script: str) -> str:
    """Return the script with comments that are too long wrapped."""
    return _COMMENT.sub(_wrapped, script)


def _wrapped(found: re.Match[str]) -> str:
    lines = found.group().split("\n")
    if all(width(line) <= WIDTH for line in lines):
        return found.group()
    before = found["indent"] + "# "
    text = " ".join(line.removeprefix(before) for line in lines)
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=before,
        subsequent_indent=before,
        break_long_words=False,
        break_on_hyphens=False,
    )
