from __future__ import annotations

import pytest
from hypothesis import given, settings
from plan_strategies import machines

from gpu_studio.plan import RUNNABLE_STRATEGIES, Machine, loads, validate
from gpu_studio.plan.templates import template
from gpu_studio.plan.writing import dumps


@pytest.mark.parametrize("strategy", RUNNABLE_STRATEGIES)
@settings(max_examples=30, deadline=None)
@given(machine=machines())
def test_that_each_template_can_run_on_the_machine_it_is_made_for(strategy: str, machine: Machine) -> None:
    plan = template(strategy, machine)
    assert plan.distribution.strategy == strategy
    assert validate(plan, machine) == []
    assert loads(dumps(plan)) == plan


def test_that_layers_are_dealt_to_the_devices_in_their_order() -> None:
    placed = template("placed", Machine(cpu_cores=2)).distribution.placed
    assert placed is not None
    assert placed.layers == {
        "dense": ("CPU:0",),
        "dense_1": ("CPU:0",),
        "dense_2": ("CPU:1",),
        "outputs": ("CPU:1",),
    }
