"""The prediction against TensorFlow's own allocator, in real training steps on the CPU.

Two models stand for all: one whose activations, and one whose weights take the most. `make bench
ARGS=memory` measures many, of random sizes too."""

from __future__ import annotations

from dataclasses import replace

import memory_prediction
import pytest
from workplace import workplace

from gpu_studio.plan import ModelSettings, Plan, Training

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_asker")]

MARGIN = 1.15
"""The most that a prediction may be of what the fullest step held."""
PROCESSES = 8
"""The most that are measured until one step is as full as foretold.

How full a step gets hangs on the order of its threads, which differs more between processes than
between the steps of one: a single process may show none of the fullest.
"""


def wide() -> Plan:
    """Dense layers of which the update of one meets the backward pass of the same.

    Its weights are there twice.
    """
    plan = memory_prediction.plan_of("mlp")
    data = replace(plan.data, options=plan.data.options | {"shape": [10, 10, 1]})
    model = ModelSettings("mlp", options={"hidden": [2048, 2048]})
    return replace(plan, data=data, model=model, training=Training(optimizer="sgd"))


@pytest.fixture(
    scope="module",
    params=[
        (memory_prediction.plan_of("cnn"), 128),
        pytest.param((wide(), 32), marks=pytest.mark.whole(__file__)),
    ],
    ids=["cnn", "wide"],
)
def case(request):
    """A plan, its batch, what was measured of it, and the facts that it is predicted from."""
    plan, batch = request.param
    with workplace() as place:
        measured, facts = memory_prediction.measured_and_known(place, plan, batch)
        foretold = memory_prediction.predicted(plan, batch, facts).total
        held = list(measured["peaks"])
        for _ in range(PROCESSES - 1):
            if foretold <= MARGIN * max(held):
                break
            held += memory_prediction.steps_of(place, plan, batch)["peaks"]
        yield plan, batch, measured | {"peaks": held}, facts


@pytest.mark.parametrize("part", ["weights", "gradients", "slots"])
def test_that_what_does_not_depend_on_the_batch_is_exact(case, part) -> None:
    plan, batch, measured, facts = case
    assert getattr(memory_prediction.predicted(plan, batch, facts), part).bytes == measured[part]


def test_that_a_step_holds_no_more_than_predicted_and_not_much_less(case) -> None:
    plan, batch, measured, facts = case
    fullest = max(measured["peaks"])
    assert fullest <= memory_prediction.predicted(plan, batch, facts).total <= MARGIN * fullest
