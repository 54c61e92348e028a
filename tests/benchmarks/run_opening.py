"""A run of ten million steps, opened in the window.

Its whole curve within half a second, and all of it read soon.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from long_runs import Training, write_run
from measuring import Budget, Row
from workplace import Workplace

from gpu_studio.contract.directory import RunDirectory

STEPS = 10_000_000
CURVE_MS, TURN_MS, MEMORY_MIB = 500.0, 100.0, 192.0
READ_MB_S = 50.0
KEPT, AT_LEAST = Budget("at most", 1.0), Budget("at least", 1.0)
RUNS = "long runs"


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Rows for the first curve, the pace of reading while drawing, the longest turn, the memory."""
    run = RunDirectory.create(place.folder / RUNS, "ten million steps")
    write_run(run, Training(STEPS), recorded=True)
    told = [place.program("open_run.py", str(run.path.parent), str(run.path)) for _ in range(times)]
    shutil.rmtree(run.path)
    size = f"{told[0]['bytes'] / 1e6:.0f} MB"
    yield _row(
        f"10 M steps ({size}): whole curve",
        "half a second",
        "ms",
        [each["curve_ms"] for each in told],
        CURVE_MS,
    )
    speeds = tuple(each["bytes"] / 1e3 / each["read_ms"] for each in told)
    yield Row(
        "reading it, drawn meanwhile", "what is asked for", "MB/s", AT_LEAST, speeds, (READ_MB_S,)
    )
    yield _row(
        "longest turn of the window",
        "a tenth of a second",
        "ms",
        [e["longest_turn_ms"] for e in told],
        TURN_MS,
    )
    yield _row(
        "memory that came with it", "the bound", "MiB", [each["mib"] for each in told], MEMORY_MIB
    )


def _row(what: str, against: str, unit: str, measured: list[float], allowed: float) -> Row:
    return Row(what, against, unit, KEPT, tuple(measured), (allowed,) * len(measured))
