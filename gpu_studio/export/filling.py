"""Pieces of a script with holes, and how they are filled."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

from gpu_studio.export.layout import indented

# A hole on a line of its own takes any number of lines, or none; others take part of a line.
_HOLE = re.compile(
    r"^(?P<indent> *)\$(?P<lines>[a-z_]+)(?P<end>\n|\Z)|\$(?P<part>[a-z_]+)", re.MULTILINE
)


def fill(piece: str, **values: str) -> str:
    """`piece` with each `$hole` filled by the value of that name.

    Raises KeyError for a hole without one.

    Values are put in as they are: a `$` in one is no hole.
    """

    def filled(hole: re.Match[str]) -> str:
        if hole["part"]:
            return values[hole["part"]]
        text = values[hole["lines"]]
        return indented(text, len(hole["indent"])) + hole["end"] if text else ""

    return _HOLE.sub(filled, piece)


def expression_of(rule: Callable[..., object]) -> str:
    """Return the expression that a one-line function returns, from its source, for a script."""
    return inspect.getsource(rule).rpartition("return ")[2].strip()
