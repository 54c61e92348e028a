"""Samples a second with all telemetry, against the same run with the epochs' ends alone.

By the fastest of many epochs: what else the machine does slows an epoch down by far more than the
two hundredths that the budget speaks of, and never speeds one up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from measuring import Budget, Row, compare
from training import CASES, pace, plan_of
from workplace import Workplace

BUDGET = Budget("at least", 0.98)
EPOCHS = 12


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """A row for each strategy with the model of the shorter steps, in samples a second."""
    for case in CASES:
        if case.model == "mlp":
            measure = partial(pace, place, plan_of(case, EPOCHS), min)
            reference = partial(pace, place, plan_of(case, EPOCHS), min, GPU_STUDIO_TELEMETRY="off")
            what = f"training, {case}, telemetry on"
            yield compare(what, measure, "telemetry off", reference, "samples/s", BUDGET, times)
