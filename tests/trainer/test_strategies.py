"""What the trainer makes of each strategy."""

from __future__ import annotations

import pytest

from gpu_studio.plan import RUNNABLE_STRATEGIES, Distribution, Placed, PlannedDevice, strategy_named

pytestmark = pytest.mark.slow
ONE_CPU = [PlannedDevice("CPU:0", "CPU:0")]


def test_that_the_trainer_has_every_strategy_that_runs_and_no_other():
    from gpu_studio.trainer.strategies import JOINED, SPREADS

    assert sorted([*SPREADS, *JOINED]) == sorted(RUNNABLE_STRATEGIES)
    assert all(strategy_named(name).clusters for name in JOINED)


ALONE = [name for name in RUNNABLE_STRATEGIES if not strategy_named(name).clusters]


@pytest.mark.parametrize("name", ALONE)
def test_that_a_strategy_of_the_trainer_is_what_the_plan_says_of_it(name):
    from gpu_studio.trainer.strategies import spread_over

    spread, said = spread_over(Distribution(name), ONE_CPU), strategy_named(name)
    assert spread.name == name
    assert spread.replicas == ("CPU:0",)
    assert bool(spread.all_reduce) == said.sums_gradients
    assert bool(spread.parameter_device) == said.has_parameter_device
    assert (spread.placement == Placed()) == said.places_layers


@pytest.mark.parametrize(
    ("name", "devices", "plainly"),
    [
        ("none", ["GPU:0"], True),
        ("one_device", ["CPU:1"], True),
        ("one_device", ["GPU:0"], False),
        ("mirrored", ["CPU:0"], False),
    ],
)
def test_that_batches_are_handed_out_where_there_are_replicas_or_a_card(name, devices, plainly):
    """A card's are sent ahead; a step on the CPU takes its batches as they are read."""
    from gpu_studio.trainer.batches import is_default
    from gpu_studio.trainer.strategies import spread_over

    known = [PlannedDevice(device, device) for device in ("CPU:0", "CPU:1", "GPU:0")]
    spread = spread_over(Distribution(name, tuple(devices)), known)
    assert is_default(spread.reads_by) is plainly
