"""Texts that anybody may have written, cut to what a person can read.

Plans, studies and runs come from strangers too: a name of 100,000 letters, or 10,000 mistakes in a
list, would take the whole terminal. What programs read (JSON, CSV, scripts, logs) stays whole.
"""

from __future__ import annotations

import hashlib
from typing import Final

LONGEST_CELL: Final = 240
"""So many letters of a text stand in a table: more than a path has in practice."""
LONGEST_LINE: Final = 2_000
"""So many letters a sentence may have."""
MOST_LINES: Final = 200
"""So many lines a refusal may have."""
MOST_MISTAKES: Final = 50
"""So many mistakes are listed at once."""
_DIGEST_LETTERS = 6


def cut(text: str, longest: int) -> str:
    """The text, or its first letters and `…`, `longest` letters in all."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cut_apart(text: str, longest: int) -> str:
    """As `cut`, but two texts that differ stay different: `aaaa… (5a105e)`."""
    if len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LETTERS]
    return f"{cut(text, longest - _DIGEST_LETTERS - 3)} ({digest})"


def cut_lines(text: str) -> str:
    """The text with no line longer than LONGEST_LINE."""
    if len(text) <= LONGEST_LINE:
        return text
    return "\n".join(cut(line, LONGEST_LINE) for line in text.split("\n"))


def first_lines(text: str) -> str:
    """The text with no line longer than LONGEST_LINE, and no more than MOST_LINES of them."""
    lines = cut_lines(text).split("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        more = lines[MOST_LINES].count("\n") + 1
        lines[MOST_LINES] = f"… and {more} more lines"
    return "\n".join(lines)
