"""Remedies against want of memory are asked of the prediction before they are offered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS
from made_plan_facts import FACTS, MODEL, layer

from gpu_studio.placement.memory import predict
from gpu_studio.placement.memory_remedies import MARGIN, Needs, memory_remedies
from gpu_studio.placement.plan_facts import ModelGraph, PlanFacts
from gpu_studio.placement.step_memory import MemoryMoment, StepMemory
from gpu_studio.plan import MIB, Machine, Placed, Plan, loads, validate, with_value
from gpu_studio.plan.strategies.placed import placing

STEP = StepMemory((MemoryMoment(50 * MIB, MIB),))
HEAVY = PlanFacts(FACTS.data, replace(MODEL, steps={"CPU": STEP, "GPU": STEP}))
"""A step takes 50 MiB and another for each sample."""
WEIGHTS = StepMemory((MemoryMoment(500 * MIB, 0),))
FIXED = PlanFacts(FACTS.data, replace(MODEL, steps={"CPU": WEIGHTS, "GPU": WEIGHTS}))
GRAPH = ModelGraph(
    "deep",
    tuple(
        layer(name, *inputs, parameters=1000, kept=MIB, output=1000)
        for name, inputs in (("one", ()), ("two", ("one",)), ("three", ("two",)))
    ),
)
PLACED = PlanFacts(
    FACTS.data, replace(MODEL, graph=GRAPH, steps={"CPU": StepMemory(), "GPU": StepMemory()})
)
UNKNOWN = replace(
    TWO_CARDS,
    cards=tuple(replace(card, total_mib=None, used_mib=None) for card in TWO_CARDS.cards),
)
"""Cards of which it is not known how much memory no slice has."""


def a_plan(*slices: int, device: str = "GPU:2", batch: int = 64) -> Plan:
    plan = loads('version = 1\n[model]\nname = "mlp"\n[data]\nname = "digits"\n')
    chosen = {"strategy": "one_device", "devices": [device]}
    for field, value in (
        ("devices.carve", [{"device": "GPU:0", "slices_mib": list(slices)}]),
        ("distribution", chosen),
        ("training.batch_size", batch),
    ):
        plan = with_value(plan, field, value)
    return plan


def labels(
    plan: Plan,
    machine: Machine = UNKNOWN,
    facts: PlanFacts = HEAVY,
    shown: dict[str, int] | None = None,
) -> list[str]:
    """The remedies' labels, once each is seen to fit with the margin, and to leave a sound plan."""
    needs = Needs(plan, machine, facts, margin=MARGIN, shown=shown)
    found = list(memory_remedies(needs))
    for each in found:
        after = each.make(plan)
        assert validate(after, machine) == [], each.label
        for memory in predict(after, machine, facts):
            usable = memory.usable_bytes
            assert usable is None or memory.total * (1 + MARGIN) <= usable, each.label
    return [each.label for each in found]


def slices_after(plan: Plan, shown: dict[str, int] | None = None) -> tuple[int, ...]:
    needs = Needs(plan, UNKNOWN, HEAVY, margin=MARGIN, shown=shown)
    return next(memory_remedies(needs)).make(plan).devices.carve[0].slices_mib


def test_that_a_slice_grows_by_what_the_prediction_lacks_and_the_giver_stays_usable() -> None:
    plan = a_plan(400, 300, 90, 400)
    assert labels(plan)[:2] == ["Give GPU:2 82 MiB of GPU:0", "Batch 8"]
    assert slices_after(plan) == (318, 300, 172, 400)


def test_that_what_no_slice_has_of_a_card_is_given_first_and_plentifully() -> None:
    assert labels(a_plan(400, 300, 90, 400), TWO_CARDS)[0] == "Give GPU:2 168 MiB more"


def test_that_a_giver_which_holds_nothing_keeps_enough_to_be_used() -> None:
    assert slices_after(a_plan(100, 80, 90, 100)) == (64, 70, 172, 64)


def test_that_a_giver_which_holds_a_trifle_keeps_enough_to_be_used() -> None:
    trifle = ModelGraph(
        "deep",
        (
            layer("one", parameters=1000, kept=MIB, output=1000),
            layer("two", "one", parameters=1000, kept=1000, output=1000),
        ),
    )
    facts = PlanFacts(FACTS.data, replace(PLACED.model or MODEL, graph=trifle))
    plan = a_plan(60, 140, device="GPU:0")
    layers = {"one": ("GPU:0",), "two": ("GPU:1",)}
    plan = replace(plan, distribution=placing(Placed(layers=layers, micro_batches=1)))
    plan = with_value(plan, "training.batch_size", 70)
    needs = Needs(plan, UNKNOWN, facts, margin=MARGIN)
    assert 0 < needs.of(plan)["GPU:1"] < 10 * MIB
    first = next(memory_remedies(needs)).make(plan).devices.carve[0].slices_mib
    assert first[0] > 60
    assert 64 <= first[1] < 140


def test_that_a_plan_which_failed_against_the_prediction_gets_what_it_showed_to_need() -> None:
    plan = a_plan(400, 300, 150, 400)
    assert slices_after(plan, {"GPU:2": 190 * MIB}) == (360, 300, 190, 400)


def test_that_what_one_replica_showed_to_need_is_given_to_all_that_do_the_same() -> None:
    plan = a_plan(400, 90, 110, 100, batch=128)
    mirrored = {"strategy": "mirrored", "devices": ["GPU:1", "GPU:2"]}
    plan = with_value(plan, "distribution", mirrored)
    foreseen = Needs(plan, UNKNOWN, HEAVY, margin=MARGIN).of(plan)
    assert foreseen["GPU:2"] <= foreseen["GPU:1"]
    for shows, lacks in (("GPU:2", 20 * MIB), ("GPU:1", 0)):
        shown = {shows: foreseen[shows] + 20 * MIB}
        needs = Needs(plan, UNKNOWN, HEAVY, margin=MARGIN, shown=shown).of(plan)
        assert needs[shows] == shown[shows]
        other = "GPU:1" if shows == "GPU:2" else "GPU:2"
        alike = foreseen[other] == foreseen[shows]
        assert needs[other] == foreseen[other] + (20 * MIB if alike else lacks)
        assert (needs["GPU:0"], needs["GPU:3"]) == (0, 0)


def test_that_a_placed_layer_s_device_needs_no_more_for_what_another_showed() -> None:
    layers = {"one": ("GPU:0",), "two": ("GPU:1",), "three": ("GPU:1",)}
    whole = a_plan(60, 400, 200, device="GPU:0")
    plan = replace(whole, distribution=placing(Placed(layers=layers, micro_batches=1)))
    foreseen = Needs(plan, UNKNOWN, PLACED, margin=MARGIN).of(plan)
    shown = {"GPU:0": foreseen["GPU:0"] + 20 * MIB}
    needs = Needs(plan, UNKNOWN, PLACED, margin=MARGIN, shown=shown).of(plan)
    assert (needs["GPU:0"], needs["GPU:1"]) == (shown["GPU:0"], foreseen["GPU:1"])


def test_that_a_smaller_batch_is_offered_only_where_it_helps() -> None:
    found = labels(a_plan(200, 200, 90, 200), facts=FIXED)
    assert found == ["Train on GPU:4", "Train on the CPU"]


def test_that_a_placed_plan_gets_as_few_micro_batches_as_help_and_its_layers_anew() -> None:
    layers = {"one": ("GPU:0",), "two": ("GPU:1",), "three": ("GPU:1",)}
    whole = a_plan(60, 400, 200, device="GPU:0")
    plan = replace(whole, distribution=placing(Placed(layers=layers, micro_batches=1)))
    found = labels(plan, facts=PLACED)
    assert found[0].startswith("Give GPU:0 ")
    assert [each for each in found if each.endswith("micro-batches")] == ["4 micro-batches"]
    assert "Place the layers anew" in found


@pytest.mark.parametrize("known", [True, False])
def test_that_lower_precision_is_asked_of_its_own_prediction(known: bool) -> None:
    plan = a_plan(100, 90, 90, 100)
    half = StepMemory((MemoryMoment(25 * MIB, MIB // 2),))
    facts = PlanFacts(FACTS.data, replace(MODEL, steps={"CPU": half, "GPU": half}))
    needs = Needs(plan, UNKNOWN, HEAVY, margin=MARGIN)
    found = [each.label for each in memory_remedies(needs, lambda _: facts if known else None)]
    assert ("Mixed precision" in found) == known
