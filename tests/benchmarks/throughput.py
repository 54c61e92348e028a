"""Compare a run's samples per second with Keras `model.fit`.

The run has all its telemetry, the window and the sampler.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from measuring import Budget, Row, compare
from training import CASES, pace_of_fit, plan_of, watched_pace
from workplace import Workplace

BUDGET = Budget("at least", 1.0)


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """A row for each model and strategy, in samples a second."""
    for case in CASES:
        plan = plan_of(case)
        measure, reference = partial(watched_pace, place, plan), partial(pace_of_fit, place, plan)
        yield compare(
            f"training, {case}, watched",
            measure,
            "plain model.fit",
            reference,
            "samples/s",
            BUDGET,
            times,
        )
