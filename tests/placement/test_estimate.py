"""Times by FLOPs: seconds where the pace of every device was measured, else proportions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_studio.placement.estimate import estimated
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph
from gpu_studio.plan import PlannedDevice

LAYER = GraphLayer("dense", "Dense", flops_forward=1e9, flops_backward=2e9)
MODEL = ModelFacts(graph=ModelGraph("m", (LAYER,)))
TWO = (
    PlannedDevice("GPU:0", "GPU:0"),
    PlannedDevice("GPU:1", "GPU:0"),
    PlannedDevice("GPU:2", "GPU:1"),
)
RATES = {"GPU:0": {"tf32": 4e9, "float32": 1e9, "bfloat16": 8e9}, "GPU:1": {"float32": 2e9}}
LINKS = {"GPU:1": 5e9}


def forward(found, name: str) -> float:
    return found.times[name]["dense"].forward_per_sample


def test_that_times_are_seconds_in_one_type_that_every_device_was_measured_in():
    found = estimated(MODEL, TWO, RATES, LINKS)
    assert (found.in_seconds, found.kind, found.links) == (True, "float32", LINKS)
    assert [forward(found, each.name) for each in TWO] == [1.0, 1.0, 0.5]


def test_that_float32_goes_by_tf32_where_cards_and_plan_do_and_mixed_precision_by_its_type():
    card = TWO[:2]
    assert forward(estimated(MODEL, card, RATES, LINKS), "GPU:0") == 0.25
    assert forward(estimated(MODEL, card, RATES, LINKS, tf32=False), "GPU:0") == 1.0
    mixed = estimated(replace(MODEL, policy="mixed_bfloat16"), card, RATES, LINKS)
    assert (mixed.kind, forward(mixed, "GPU:1")) == ("bfloat16", 0.125)


def test_that_a_cpu_beside_a_card_goes_by_its_float32():
    both = (*TWO[:2], PlannedDevice("CPU:0", "CPU:0"))
    found = estimated(MODEL, both, {**RATES, "CPU:0": {"float32": 1e8}}, {})
    assert (found.kind, forward(found, "CPU:0")) == ("tf32", 10.0)


@pytest.mark.parametrize(
    ("rates", "policy"),
    [({}, "float32"), ({"GPU:0": {"float32": 1e9}}, "float32"), (RATES, "mixed_float16")],
    ids=["nothing measured", "one device of two", "not in this type"],
)
def test_that_without_the_pace_of_every_device_times_are_proportions_without_links(rates, policy):
    found = estimated(replace(MODEL, policy=policy), TWO, rates, LINKS)
    assert (found.in_seconds, found.links) == (False, {})
    assert forward(found, "GPU:0") == forward(found, "GPU:2") == 1e9


def test_that_a_model_of_unknown_layers_has_no_times():
    assert estimated(ModelFacts(), TWO, RATES, LINKS).times == {}
