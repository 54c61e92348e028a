from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from plan_strategies import plans

from gpu_studio.plan import (
    Carve,
    DeviceSettings,
    Distribution,
    ModelSettings,
    Named,
    Plan,
    Training,
    dumps,
    loads,
)
from gpu_studio.plan.difference import Difference, differences


@settings(max_examples=25, deadline=None)
@given(plans())
def test_that_a_plan_is_no_different_from_itself(plan: Plan) -> None:
    assert differences(plan, plan) == ()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(plans(), plans())
def test_that_two_plans_differ_in_some_field_exactly_if_they_are_not_equal(
    one: Plan, other: Plan
) -> None:
    there, back = differences(one, other), differences(other, one)
    assert bool(there) == (one != other)
    assert {(each.field, each.before, each.after) for each in there} == {
        (each.field, each.after, each.before) for each in back
    }


def test_that_each_field_is_named_as_in_the_file_with_what_stood_and_stands_there() -> None:
    before = Plan(
        model=ModelSettings("mlp", options={"hidden": [64, 32]}),
        devices=DeviceSettings(carve=(Carve("GPU:0", (512, 512)),)),
    )
    after = replace(
        before,
        model=ModelSettings("mlp", options={"hidden": [64], "dropout": 0.5}),
        devices=DeviceSettings(carve=(Carve("GPU:0", (512, 256)),)),
        training=Training(schedule=Named("cosine")),
        distribution=Distribution("mirrored"),
    )
    assert differences(before, after) == (
        Difference("devices.carve[0].slices_mib", "[512, 512]", "[512, 256]"),
        Difference("model.options.hidden", "[64, 32]", "[64]"),
        Difference("model.options.dropout", None, "0.5"),
        Difference("training.schedule", None, '"cosine"'),
        Difference("distribution.strategy", '"none"', '"mirrored"'),
    )
    assert [str(each) for each in differences(before, after)][2:4] == [
        "model.options.dropout = 0.5 is new",
        'training.schedule = "cosine" is new',
    ]


def test_that_a_plan_from_before_tf32_is_one_with_it_on() -> None:
    """TensorFlow's default, in which older runs trained: nothing differs until it is off."""
    older, off = loads("[training]\nepochs = 1"), loads("[training]\ntf32 = false")
    assert differences(older, loads("[training]\ntf32 = true")) == ()
    assert differences(older, off) == (Difference("training.tf32", None, "false"),)
    assert loads(dumps(off)) == off
