"""Where the entries of a legend stand: beside the title, or below it in as many lines as needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LINE = 18.0
"""Pixels from one line of a legend to the next."""


class Flow(NamedTuple):
    """The left end and the line (0 is the title's) of each entry, and how many lines there are."""

    places: tuple[tuple[float, int], ...]
    lines: int


def flow(title: float, widths: Sequence[float], width: float, *, right: bool = False) -> Flow:
    """Place entries of these widths in `width` pixels, after a title that is so wide.

    Beside the title they stand at its end or, with `right`, at the right end.
    """
    whole = sum(widths)
    if title + whole <= width:
        x = width - whole if right else title
        places = []
        for each in widths:
            places.append((x, 0))
            x += each
        return Flow(tuple(places), 1)
    x, line, places = 0.0, 1, []
    for each in widths:
        if x > 0 and x + each > width:
            x, line = 0.0, line + 1
        places.append((x, line))
        x += each
    return Flow(tuple(places), line + 1)
