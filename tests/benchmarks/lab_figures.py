"""The figures of the Lab's benchmarks against a bare loop, NumPy and `memcpy`, in one process."""

from __future__ import annotations

from collections.abc import Iterator

from measuring import Budget, Row
from workplace import Workplace

BARE = Budget("at most", 1 / 0.95)
"""A benchmark reaches 0.95 of what a bare loop does: it takes at most 1.05 times as long."""
TEN_PERCENT = Budget("at most", 1.1)
ASYNCHRONOUS = Budget("at most", 0.1)
SYNCHRONOUS = Budget("at least", 0.5)
"""On a CPU, operations are done when their calls return, and the benchmark says so."""


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Seconds of one operation, and of launching fifty."""
    found = place.program("measure_bare.py", str(times))
    for what, pair in found["pairs"].items():
        ours, reference = (tuple(1e3 * each for each in seconds) for seconds in pair)
        if what.endswith("NumPy"):
            yield Row(what, "NumPy", "ms, exactly", TEN_PERCENT, ours, reference)
        elif "copy" in what:
            yield Row(what, "memcpy", "ms, exactly", TEN_PERCENT, ours, reference)
        else:
            yield Row(what, "a bare loop", "ms, exactly", BARE, ours, reference)
    launched, done = (tuple(each) for each in (found["launched"], found["done"]))
    on_card = found["device"].startswith("GPU")
    budget = ASYNCHRONOUS if on_card else SYNCHRONOUS
    yield Row(f"calls returned on {found['device']}", "results there", "s", budget, launched, done)
