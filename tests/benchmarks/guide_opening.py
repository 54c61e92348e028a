"""How long one waits for the guide: 100 ms from F1 to the painted page, once it is imported."""

from __future__ import annotations

from collections.abc import Iterator

from measuring import Budget, Row
from workplace import Workplace

OPEN_MS = 100.0
BUDGET = Budget("at most", 1.0)


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Milliseconds to the first page that is opened in a process, for each page; then to others."""
    told = place.program("open_guide.py", str(times))
    for page, taken in told.items():
        yield Row(
            f"guide: {page}",
            "what is allowed",
            "ms",
            BUDGET,
            tuple(taken),
            (OPEN_MS,) * len(taken),
        )
