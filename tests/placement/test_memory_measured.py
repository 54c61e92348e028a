"""The prediction against TensorFlow's own allocator, in real training steps on the CPU."""

from __future__ import annotations

from statistics import median

import memory_prediction
import pytest
from workplace import workplace

pytestmark = pytest.mark.slow

BUILT_IN, MADE = ("mlp", "cnn"), ("convolutions", "wide-sgd")
FLUCTUATION = 1.4
"""The fullest of the few steps measured here, against the fullest of all that there may be."""


@pytest.fixture(scope="module")
def place():
    with workplace() as found:
        yield found


@pytest.fixture(scope="module", params=[*BUILT_IN, *MADE])
def case(request, place):
    """A plan, its batches, what was measured of it, and the facts that it is predicted from."""
    if request.param in BUILT_IN:
        plan, batches = memory_prediction.plan_of(request.param), memory_prediction.BATCHES
    else:
        made = place.program("models_to_measure.py", str(place.folder), request.param)
        plan = memory_prediction.made_plan(request.param, made[request.param])
        batches = (plan.training.batch_size,)
    return plan, batches, *memory_prediction.measured_and_known(place, plan, batches)


@pytest.mark.parametrize("part", ["weights", "gradients", "slots"])
def test_that_what_does_not_depend_on_the_batch_is_exact(case, part) -> None:
    plan, _, measured, facts = case
    assert getattr(memory_prediction.predicted(plan, 32, facts), part).bytes == measured[part]


def test_that_a_step_holds_no_more_than_predicted_and_not_much_less(case) -> None:
    plan, batches, measured, facts = case
    for batch in batches:
        held = memory_prediction.totals(measured, batch)
        assert median(held) <= memory_prediction.predicted(plan, batch, facts).total <= FLUCTUATION * max(held)
