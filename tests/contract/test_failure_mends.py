from __future__ import annotations

import pytest

from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.failure_mends import (
    against_divergence,
    against_want_of_memory,
    change_to,
    offered,
    without_device,
)
from gpu_studio.plan import loads, with_value

PLAN = loads(
    'version = 1\n[model]\nname = "mlp"\n[data]\nname = "digits"\n[training]\nbatch_size = 64\n'
)


def texts(mends: list[SuggestedChange]) -> list[str]:
    return [mend.text for mend in mends]


def test_that_half_the_batch_and_mixed_precision_are_offered_against_want_of_memory():
    mends = against_want_of_memory(PLAN)
    assert texts(mends) == ["Batch 32", "Mixed precision"]
    assert with_value(PLAN, mends[0].field, mends[0].value).training.batch_size == 32


def test_that_a_batch_of_one_is_not_halved():
    assert texts(against_want_of_memory(with_value(PLAN, "training.batch_size", 1))) == [
        "Mixed precision"
    ]


def test_that_a_placed_plan_is_offered_micro_batches_and_recomputing():
    placed = with_value(
        with_value(PLAN, "distribution.strategy", "placed"),
        "distribution.placed",
        {"micro_batches": 4},
    )
    assert {"8 micro-batches", "Recompute activations"} < set(texts(against_want_of_memory(placed)))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"training.batch_size": 32}, "training.batch_size"),
        ({"devices.carve": [{"device": "GPU:0", "slices_mib": [1, 2]}]}, "devices.carve"),
        ({"training.batch_size": 32, "training.epochs": 7}, "training"),
        (
            {"distribution": {"strategy": "one_device", "devices": ["CPU:0"]}},
            "distribution",
        ),
    ],
)
def test_that_a_change_names_the_one_field_or_table_and_makes_the_plan_of_it(changes, field):
    mended = PLAN
    for name, value in changes.items():
        mended = with_value(mended, name, value)
    change = change_to(PLAN, mended, "so")
    assert (change.field, change.text) == (field, "so")
    assert with_value(PLAN, change.field, change.value) == mended


def test_that_plans_which_differ_in_several_tables_are_no_one_change():
    with pytest.raises(ValueError, match="one table"):
        change_to(PLAN, with_value(with_value(PLAN, "training.epochs", 7), "name", "x"), "so")


def test_that_a_diverged_run_is_offered_smaller_steps_and_clipping():
    mends = against_divergence(PLAN)
    assert texts(mends) == ["Halve the learning rate: 0.0005", "Clip the gradients"]
    assert with_value(PLAN, mends[1].field, mends[1].value).training.options == {
        "global_clipnorm": 1.0
    }


def test_that_clipping_is_offered_once_and_full_precision_only_after_mixed():
    plan = with_value(
        with_value(PLAN, "training.options", {"clipnorm": 2.0}), "training.mixed_precision", True
    )
    assert texts(against_divergence(plan)) == ["Halve the learning rate: 0.0005", "Full precision"]
    # Of an optimizer that the model brings, a plan changes neither.
    assert texts(against_divergence(plan, as_compiled=True)) == ["Full precision"]


def test_that_a_lost_device_is_left_out_where_there_are_others():
    mirrored = with_value(PLAN, "distribution.strategy", "mirrored")
    (mend,) = without_device(mirrored, "GPU:1", ["GPU:0", "GPU:1", "GPU:2"])
    assert (mend.field, mend.value) == ("distribution.devices", ["GPU:0", "GPU:2"])
    assert without_device(mirrored, "GPU:0", ["GPU:0"]) == []


def test_that_nothing_is_offered_that_no_plan_can_hold():
    wrong = [
        SuggestedChange(text="a", field="training.nonsense", value=1),
        SuggestedChange(text="b", field="training.batch_size", value=0),
    ]
    same = SuggestedChange(text="c", field="training.batch_size", value=64)
    assert offered(PLAN, [*wrong, same]) == []
