"""CSV lines whose text no spreadsheet evaluates as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With what a spreadsheet takes a cell for a formula (OWASP, *CSV Injection*)."""


def csv_line(cells: Iterable[Any]) -> str:
    """Return the cells as one CSV line. None is an empty cell; no text is taken for a formula."""
    text = io.StringIO()
    # With this line terminator, a cell that contains either of its characters is quoted.
    csv.writer(text, lineterminator="\r\n").writerow([_harmless(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n")


def _harmless(cell: Any) -> Any:
    return (
        f"'{cell}"
        if isinstance(cell, str) and cell.startswith(_FORMULA) and not _is_number(cell)
        else cell
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
