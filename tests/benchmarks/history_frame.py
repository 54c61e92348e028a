"""One frame of the devices' plots with 16 cards and a day of history, and its memory."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from measuring import Budget, Row
from workplace import Workplace

FRAME_MS = 16.0
MEMORY_MIB = 64.0
KEPT = Budget("at most", 1.0)


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """The 95th percentile of the frames' times, a row for each metric and span; then the memory."""
    told = [place.program("draw_history.py") for _ in range(times)]
    for name in told[0]["frames"]:
        slow = tuple(percentile_95(each["frames"][name]) for each in told)
        yield Row(f"frame p95, {name}", "a frame at 60 Hz", "ms", KEPT, slow, (FRAME_MS,))
    memory = tuple(float(each["mib"]) for each in told)
    yield Row("history of 16 cards, 24 h", "the bound", "MiB", KEPT, memory, (MEMORY_MIB,))


def percentile_95(numbers: Sequence[float]) -> float:
    """What 95 of 100 of the numbers do not exceed."""
    return statistics.quantiles(numbers, n=20)[-1]
