"""How a large number is written wherever a person reads it: in the window, in the terminal, in reports.

By commas, as Python's format `,` has it: a thin space would be escaped in a terminal, and could not be searched for.
"""

from __future__ import annotations


def grouped(number: float, digits: int = 0) -> str:
    """A number with commas between its thousands, as `16,384`; one that is not whole with so many digits, `1,024.5`."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.{digits}f}"
