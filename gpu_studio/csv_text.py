"""Lines of CSV in which no text is a formula to a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With what a spreadsheet takes a cell for a formula (OWASP, *CSV Injection*)."""


def csv_line(cells: Iterable[Any]) -> str:
    """The cells as a line of CSV, None as an empty one. No text of theirs is a formula to a spreadsheet."""
    text = io.StringIO()
    # With this end of a line, both of its letters are quoted where a cell has them.
    csv.writer(text, lineterminator="\r\n").writerow([_harmless(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n")


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) and not _is_number(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
