"""Shell scripts from pieces with holes: `@name@`, for a `$` is the shell's."""

from __future__ import annotations

import re

_HOLE = re.compile(r"@([a-z_]+)@")
_HOLE_OF_LINES = re.compile(r"^@([a-z_]+)@\n", re.MULTILINE)


def filled(piece: str, **values: str) -> str:
    """`piece` with each hole filled. One on a line of its own takes any number of lines, or none.

    Values are put in as they are: what a plan says must be quoted by the caller. Raises KeyError
    for a hole without a value.
    """
    whole = _HOLE_OF_LINES.sub(lambda hole: _lines(values[hole[1]]), piece)
    return _HOLE.sub(lambda hole: values.get(hole[1], hole[0]), whole)


def _lines(text: str) -> str:
    return f"{text}\n" if text else ""
