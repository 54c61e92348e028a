"""What a drop comes to, and every reason why it cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lane_plans import CPUS, MACHINE, MLP, dense, facts_of, placed_plan

from gpu_studio.placement.plan_facts import ModelGraph
from gpu_studio.plan import (
    Card,
    Carve,
    DeviceSettings,
    Distribution,
    Machine,
    Placed,
    Plan,
    Training,
)
from gpu_studio.plan.edits.distribution import places_of
from gpu_studio.ui.plan.layers.board import OPEN
from gpu_studio.ui.plan.layers.layer_moves import (
    FORMAT,
    MOST,
    LayerDrop,
    Verdict,
    carried,
    carrying,
    ground_of,
    verdict,
)

ON_CARD = Machine((Card(0, "GPU-a", "NVIDIA Test", total_mib=8192),), 4, 16_000)


def judged(
    drop: LayerDrop, plan: Plan | None = None, machine: Machine = MACHINE, graph: ModelGraph = MLP
) -> Verdict:
    model = facts_of(graph).model
    assert model is not None
    return verdict(drop, ground_of(plan or placed_plan(), machine, model, graph))


def test_that_a_move_says_where_it_will_run_and_is_named_for_undo() -> None:
    found = judged(LayerDrop(("dense",), "CPU:2"))
    assert found.said == "drop to run on CPU:2"
    assert found.change is not None
    assert found.change.text == "move dense to CPU:2"
    assert places_of(found.change.make(placed_plan()))["dense"] == ("CPU:2",)
    many = judged(LayerDrop(("dense", "dense_1", "outputs"), "CPU:2")).change
    assert many is not None
    assert many.text == "move 3 layers to CPU:2"


def test_that_a_split_says_over_which_devices() -> None:
    found = judged(LayerDrop(("dense",), "CPU:3", split=True))
    assert found.said == "drop to split over CPU:1 and CPU:3"
    assert found.change is not None
    assert places_of(found.change.make(placed_plan()))["dense"] == ("CPU:1", "CPU:3")


def test_that_a_layer_that_is_left_out_is_split_with_where_it_runs() -> None:
    plan = placed_plan({"flatten": ("CPU:1",)})
    change = judged(LayerDrop(("dense",), "CPU:3", split=True), plan).change
    assert change is not None
    assert places_of(change.make(plan))["dense"] == ("CPU:1", "CPU:3")


def test_that_layers_are_left_open() -> None:
    found = judged(LayerDrop(("dense",), OPEN))
    assert found.said == "drop to leave open"
    assert found.change is not None
    assert "dense" not in places_of(found.change.make(placed_plan()))


@pytest.mark.parametrize(
    ("drop", "why"),
    [
        (LayerDrop(("dense",), "GPU:0"), "GPU:0 is not among the logical devices of this plan."),
        (LayerDrop(("dense",), "TPU:0"), "TPU:0 is not among the logical devices of this plan."),
        (LayerDrop(("dens",), "CPU:0"), "The layer dens is not one of this model's."),
        (LayerDrop((), "CPU:0"), "No layer is selected."),
        (LayerDrop(("dense",), "CPU:1"), "in a lane, layers stand in the order in which they run"),
        (LayerDrop(("dense", "flatten"), OPEN), ""),
        (
            LayerDrop(("flatten",), "CPU:2", split=True),
            "The layer flatten cannot be split: a Flatten has no units of its own.",
        ),
        (LayerDrop(("dense",), "CPU:1", split=True), "dense is on CPU:1 already"),
        (LayerDrop(("dense",), OPEN, split=True), "A layer is split over devices"),
    ],
)
def test_that_what_cannot_be_is_refused_with_the_reason(drop: LayerDrop, why: str) -> None:
    found = judged(drop)
    assert (found.change is None) == bool(why)
    assert why in found.said


def test_that_what_is_left_out_cannot_be_left_out_again() -> None:
    plan = placed_plan({})
    assert judged(LayerDrop(("dense",), OPEN), plan).said == "The layer dense is left open already."
    assert (
        judged(LayerDrop(("dense", "outputs"), OPEN), plan).said
        == "All of them are left open already."
    )


def test_that_fewer_units_than_devices_are_refused() -> None:
    plan = placed_plan({"outputs": CPUS[:3]})
    assert (
        judged(LayerDrop(("outputs",), "CPU:3", split=True), plan).said
        == "The layer outputs has 3 units, fewer than 4 devices."
    )


def test_that_a_layer_too_large_for_a_slice_is_refused_there_and_split_where_its_parts_fit() -> (
    None
):
    large = ModelGraph(
        "large", (dense("first", units=2048, before=2048), dense("last", "first", before=2048))
    )
    carved = DeviceSettings(carve=(Carve("GPU:0", (48, 48, 4096)),))
    plan = Plan(
        devices=carved,
        training=Training(batch_size=1),
        distribution=Distribution(
            "placed", placed=Placed(1, {"first": ("GPU:2",), "last": ("GPU:2",)})
        ),
    )
    refused = judged(LayerDrop(("first",), "GPU:0"), plan, ON_CARD, large)
    assert refused.said == "The layer first alone takes 64.0 MiB in a step, and GPU:0 has 48 MiB."
    assert judged(LayerDrop(("last",), "GPU:0"), plan, ON_CARD, large).change is not None
    assert (
        judged(LayerDrop(("first",), "GPU:0", split=True), plan, ON_CARD, large).change is not None
    )


def test_that_a_split_is_refused_under_an_optimizer_that_needs_weights_whole() -> None:
    plan = replace(placed_plan(), training=Training(batch_size=64, options={"clipnorm": 1.0}))
    found = judged(LayerDrop(("dense",), "CPU:3", split=True), plan)
    assert found.change is None
    assert "training.options.clipnorm" in found.said
    assert "whole weights" in found.said
    assert judged(LayerDrop(("dense",), "CPU:3"), plan).change is not None


def test_that_a_problem_that_was_there_before_refuses_nothing() -> None:
    plan = placed_plan({"dense": ("GPU:9",), "outputs": ("CPU:0",)})
    assert judged(LayerDrop(("outputs",), "CPU:1"), plan).change is not None


def test_that_layers_travel_as_json_and_each_once() -> None:
    data = carrying(("dense", "naïve/λ"))
    assert bytes(data.data(FORMAT).data()) == b'{"layers": ["dense", "na\\u00efve/\\u03bb"]}'
    assert carried(data) == ("dense", "naïve/λ")
    assert carried(carrying(("dense", "dense"))) == ("dense",)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[1]",
        b"7",
        b'{"layers": "dense"}',
        b'{"layers": [1]}',
        b'{"layer": []}',
        b"[" * 9999,
        b"\xff",
    ],
)
def test_that_other_data_under_this_name_carry_nothing(text: bytes) -> None:
    data = carrying(())
    data.setData(FORMAT, text)
    assert carried(data) == ()


def test_that_more_layers_than_any_model_has_are_not_taken() -> None:
    assert carried(carrying([str(number) for number in range(MOST + 1)])) == ()
