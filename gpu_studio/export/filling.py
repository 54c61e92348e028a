"""Pieces of script with holes, and what goes into them."""

from __future__ import annotations

import re

from gpu_studio.export.layout import indented

# A hole that has a line to itself takes a text of any number of lines, also none; others take part of a line.
_HOLE = re.compile(r"^(?P<indent> *)\$(?P<lines>[a-z_]+)(?P<end>\n|\Z)|\$(?P<part>[a-z_]+)", re.MULTILINE)


def fill(piece: str, **values: str) -> str:
    """`piece` with each `$hole` filled by the value of that name; raises KeyError for a hole without one.

    Values are put in as they are: a `$` in one is no hole.
    """

    def filled(hole: re.Match[str]) -> str:
        if hole["part"]:
            return values[hole["part"]]
        text = values[hole["lines"]]
        return indented(text, len(hole["indent"])) + hole["end"] if text else ""

    return _HOLE.sub(filled, piece)
