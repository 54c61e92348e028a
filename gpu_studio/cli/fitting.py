"""A table that fits a terminal: columns are narrowed, and stacked if that is not enough."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Final

GAP: Final = 2
NARROWEST: Final = 18
"""Characters that a cell keeps, so that a figure with its unit can still be read."""
_ENDLESS: Final = 1 << 20

Rows = Sequence[Sequence[str]]


def terminal_width() -> int:
    """The columns of the terminal that stdout is; without an end where it is a file or a pipe."""
    return shutil.get_terminal_size((_ENDLESS, 24)).columns if sys.stdout.isatty() else _ENDLESS


def fitted(rows: Rows, width: int) -> Iterator[str]:
    """Yield the lines of a table at most `width` wide, as long as that leaves room for its first
    column and one more.

    The first column, and the first row where the table is cut into several, stand in each part.
    """
    first = max((len(row[0]) for row in rows), default=0)
    for number, columns in enumerate(_parts(rows, width - first)):
        if number:
            yield ""
        yield from _lines([[row[0], *(row[column] for column in columns)] for row in rows], width)


def shortened(text: str, width: int) -> str:
    """Cut `text` to `width` characters, in its middle: ids and names differ at their ends."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def _parts(rows: Rows, space: int) -> Iterator[range]:
    """Cut the columns after the first into as many as fit beside each other when they are at their
    narrowest.
    """
    widths = _widths(rows)[1:]
    begin, used = 1, 0
    for column, natural in enumerate(widths, 1):
        needed = GAP + min(natural, NARROWEST)
        if used + needed > space and column > begin:
            yield range(begin, column)
            begin, used = column, 0
        used += needed
    yield range(begin, len(widths) + 1)


def _lines(rows: Rows, width: int) -> Iterator[str]:
    widths = _narrowed(_widths(rows), width)
    for row in rows:
        cells = (
            shortened(text, space).ljust(space) for text, space in zip(row, widths, strict=True)
        )
        yield (" " * GAP).join(cells).rstrip()


def _widths(rows: Rows) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _narrowed(widths: list[int], width: int) -> list[int]:
    """Take from the widest columns but the first until all fit, or none can give any more."""
    excess = sum(widths) + GAP * (len(widths) - 1) - width
    while excess > 0 and max(widths[1:], default=0) > NARROWEST:
        widest = max(range(1, len(widths)), key=lambda column: widths[column])
        widths = [*widths[:widest], widths[widest] - 1, *widths[widest + 1 :]]
        excess -= 1
    return widths
