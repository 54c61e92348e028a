"""Waiting times on the Plan page with eight simulated cards: 0.2 s to open it, 50 ms an edit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from measuring import Budget, Row
from workplace import Workplace

OPEN_MS, TAB_MS, EDIT_MS = 200.0, 200.0, 50.0
EDITS = 12
BUDGET = Budget("at most", 1.0)


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Milliseconds of the page, of each tab when first shown, and of each kind of edit."""
    simulated = replace(place, environment={**place.environment, "GPU_STUDIO_SIMULATE": "8xH100"})
    told = simulated.program("edit_plans.py", str(2 * times + 1), str(EDITS))
    first, *later = told["opened"]
    yield _row("Plan page, the first time", [first], OPEN_MS)
    yield _row("Plan page, later", later, OPEN_MS)
    for name, taken in told["tabs"].items():
        yield _row(f"tab {name}, the first time", [taken], TAB_MS)
    for kind, each in told["edits"].items():
        yield _row(f"edit: {kind}, worst {max(each):.0f} ms", each, EDIT_MS)


def _row(what: str, measured: Sequence[float], allowed: float) -> Row:
    return Row(what, "what is allowed", "ms", BUDGET, tuple(measured), (allowed,) * len(measured))
