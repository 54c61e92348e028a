"""Shell scripts from pieces with holes: `@name@`, for a `$` is the shell's."""

from __future__ import annotations

import re

_HOLE = re.compile(r"^@(?P<lines>[a-z_]+)@\n|@(?P<part>[a-z_]+)@", re.MULTILINE)


def filled(piece: str, **values: str) -> str:
    """`piece` with each hole filled. One on a line of its own takes any number of lines, or none.

    Values are put in as they are: what a plan says must be quoted by the caller, and what looks
    like a hole in a value is none. Raises KeyError for a hole without a value.
    """
    return _HOLE.sub(
        lambda hole: _lines(values[hole["lines"]]) if hole["lines"] else values[hole["part"]], piece
    )


def _lines(text: str) -> str:
    return f"{text}\n" if text else ""
