"""A search leaves room for what several cards send for one output."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_graphs import model_of, with_kernels
from made_machines import TWO_CARDS

from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph, PlanFacts
from gpu_studio.placement.step_memory import StepMemory
from gpu_studio.placement.suggestion import NothingFits, Suggestion, suggest
from gpu_studio.placement.work import Device, by_flops
from gpu_studio.plan import Carve, DeviceSettings, Distribution, Placed, Plan, Training

BATCH = 32
TRUNK = GraphLayer(
    "trunk", "Dense", output_bytes=90_000, kept_bytes=90_000, around_bytes=180_000,
    flops_forward=1e6, flops_backward=2e6,
)  # fmt: skip
HEADS = tuple(
    replace(TRUNK, name=name, inputs=("trunk",), output_bytes=8, kept_bytes=8, around_bytes=9000)
    for name in ("one", "two", "three")
)
MODEL = ModelFacts(ModelGraph("heads", (TRUNK, *HEADS), input_bytes=8), steps={"GPU": StepMemory()})
CARDS = [Device(f"GPU:{place}", 20e6) for place in range(4)]


def predicted(model: ModelFacts, found: Suggestion, batch: int = BATCH) -> dict[str, int]:
    on = {layer: (device,) for layer, device in found.layers.items()}
    plan = Plan(
        devices=DeviceSettings(carve=(Carve("GPU:0", (300,) * 4),), visible=("GPU:0",)),
        training=Training(batch_size=batch),
        distribution=Distribution(
            "placed", placed=Placed(found.micro_batches, on, found.recompute)
        ),
    )
    return {each.device: each.total for each in predict(plan, TWO_CARDS, PlanFacts(model=model))}


def suggested(limit: float, heads: float = 20e6) -> Suggestion | NothingFits:
    cards = [replace(each, limit=heads) for each in CARDS]
    cards[0] = replace(cards[0], limit=limit)
    times = {each.name: by_flops(MODEL.graph or ModelGraph("", ())) for each in CARDS}
    return suggest(MODEL, cards, BATCH, times, "fastest", micro_batches=4)


def test_that_a_card_has_room_for_what_several_others_send_for_an_output() -> None:
    found = suggested(1e9)
    assert isinstance(found, Suggestion)
    assert len(set(found.layers.values())) == 4
    need = predicted(MODEL, found)["GPU:0"]
    again = suggested(need)
    assert isinstance(again, Suggestion)
    assert again.layers == found.layers
    # With less room the trunk goes where fewer cards send something back, or heads are with it.
    less = suggested(need - 1)
    assert isinstance(less, Suggestion)
    assert predicted(MODEL, less)["GPU:0"] < need


@pytest.mark.parametrize("recompute", [False, True])
def test_that_what_is_suggested_fits_whichever_cards_take_an_output(recompute: bool) -> None:
    several = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        model = with_kernels(model_of(random), np.random.default_rng(seed + 60))
        assert model.graph is not None
        batch = int(random.integers(1, 200))
        times = {each.name: by_flops(model.graph) for each in CARDS}
        free = [replace(each, limit=None) for each in CARDS]
        loose = suggest(model, free, batch, times, "fastest", micro_batches=4, recompute=recompute)
        assert isinstance(loose, Suggestion)
        need = predicted(model, loose, batch)
        cards = [replace(each, limit=need[each.name] * 0.99 or 1.0) for each in CARDS]
        found = suggest(model, cards, batch, times, "fastest", micro_batches=4, recompute=recompute)
        if isinstance(found, Suggestion):
            held = predicted(model, found, batch)
            assert all(held[each.name] <= (each.limit or 0) + 0.5 for each in cards)
            several += 1
    assert several > 6


def test_that_takers_on_one_card_send_one_gradient_for_an_output() -> None:
    cards = [replace(CARDS[0], limit=1e9), replace(CARDS[1], limit=1e9)]
    times = {each.name: by_flops(MODEL.graph or ModelGraph("", ())) for each in cards}
    found = suggest(MODEL, cards, BATCH, times, "least_memory", micro_batches=4)
    assert isinstance(found, Suggestion)
    held = predicted(MODEL, found)
    exact = [replace(each, limit=held[each.name]) for each in cards]
    again = suggest(MODEL, exact, BATCH, times, "least_memory", micro_batches=4)
    assert isinstance(again, Suggestion)
    assert again.layers == found.layers
