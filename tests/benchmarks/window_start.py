"""From the process's start to a painted window with its devices, against a bare window.

The bare window has one plot.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from measuring import Budget, Row, compare
from workplace import Workplace

BUDGET = Budget("at most", 1.5)


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """One row, in milliseconds."""

    def started(program: str) -> float:
        # Both clocks are the machine's monotonic one, so the child's reading can be held against
        # the parent's.
        began = time.monotonic()
        return (float(place.program(program)["shown"]) - began) * 1000

    for program in ("app_window.py", "bare_window.py"):
        started(program)  # once for the disk's cache and the compiled modules
    yield compare(
        "window, devices listed",
        lambda: started("app_window.py"),
        "bare window, one empty plot",
        lambda: started("bare_window.py"),
        "ms",
        BUDGET,
        2 * times + 1,
    )
