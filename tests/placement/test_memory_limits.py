"""The found placement trains within limits of slices that the naive one breaks by far.

The slices are practice cards': TensorFlow's own allocators give out their memory."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from made_machines import TWO_CARDS
from training_runs import small_plan, trained

from gpu_studio.contract import events
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import ModelFacts, ModelGraph, PlanFacts, decoded
from gpu_studio.placement.suggestion import Suggestion, suggest
from gpu_studio.placement.work import by_flops, chosen_devices, places
from gpu_studio.plan import MIB, Carve, DeviceSettings, Placed, Plan
from gpu_studio.runs.questions.plan_question import ask_about

if TYPE_CHECKING:
    from fake_cards import Make

pytestmark = pytest.mark.usefixtures("warm_asker")

LIMIT_MIB = 66
"""Less than the weights and slots that the naive placement puts on one device.

Whatever the executor frees in time.
"""
FOUND_AT_MOST, NAIVE_AT_LEAST = 0.85, 1.3
"""Of the limit.

What the fullest device may hold with the placement that is found, and holds with the naive one.
"""
DEVICES, CARD_MIB = 3, 2048
NEARLY = 0.9
"""Of what is predicted, a slice holds at least so much."""
KEPT_BESIDES = 1 << 16
"""Bytes that a slice may keep beyond weights and slots: its allocator rounds each up to 256."""
BATCH = 32
PLAN = small_plan(
    # A third of the layers has nearly all of the weights: as many layers are not as much memory.
    f"model.options={{ hidden = {[64] * 13 + [1024] * 7} }}",
    "data.name=synthetic",
    "data.options={ shape = [64], samples = 100, classes = 4 }",
    f"training.batch_size={BATCH}",
    "training.epochs=1",
    "training.checkpoint.every_epochs=0",
)
SLICED = DeviceSettings(carve=(Carve("GPU:0", (LIMIT_MIB,) * DEVICES),), visible=("GPU:0",))


@dataclass(frozen=True)
class Found:
    """The model's facts, and the placement found for it over three devices with limits."""

    facts: PlanFacts
    layers: Mapping[str, str]

    @property
    def model(self) -> ModelFacts:
        assert self.facts.model is not None
        return self.facts.model

    @property
    def graph(self) -> ModelGraph:
        assert self.model.graph is not None
        return self.model.graph


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The facts of the plan, from TensorFlow, and what the search finds for three slices."""
    facts = decoded(ask_about(PLAN))
    assert facts.model is not None
    assert facts.model.graph is not None
    devices = places(chosen_devices(replace(PLAN, devices=SLICED), TWO_CARDS), TWO_CARDS, {})
    times = {device.name: by_flops(facts.model.graph) for device in devices}
    suggestion = suggest(facts.model, devices, BATCH, times, "fastest", micro_batches=2)
    assert isinstance(suggestion, Suggestion)
    return Found(facts, suggestion.layers)


def placed(layers: Mapping[str, str]) -> Plan:
    """The plan with its layers on these slices."""
    on = {name: (home,) for name, home in layers.items()}
    distribution = replace(PLAN.distribution, strategy="placed", placed=Placed(2, on))
    return replace(PLAN, devices=SLICED, distribution=distribution)


def even(found: Found) -> dict[str, str]:
    """As many layers on each slice, the naive placement."""
    names = [layer.name for layer in found.graph.layers]
    return {name: f"GPU:{place * DEVICES // len(names)}" for place, name in enumerate(names)}


def totals(layers: Mapping[str, str], facts: PlanFacts) -> list[float]:
    """What is predicted of the slices, as shares of the limit that each knows to have."""
    memory = predict(placed(layers), TWO_CARDS, facts)
    used = [each for each in memory if each.device.startswith("GPU")]
    assert [each.limit_bytes for each in used] == [LIMIT_MIB * MIB] * DEVICES
    return [each.total / (LIMIT_MIB * MIB) for each in used]


@pytest.mark.slow
def test_that_only_the_placement_that_was_found_is_within_the_limits(found: Found) -> None:
    assert max(totals(dict.fromkeys(found.layers, "GPU:0"), found.facts)) > NAIVE_AT_LEAST
    assert max(totals(even(found), found.facts)) > NAIVE_AT_LEAST
    assert max(totals(found.layers, found.facts)) < FOUND_AT_MOST


@pytest.mark.whole(__file__)
@pytest.mark.slow
def test_that_slices_refuse_the_naive_placement_and_give_the_found_one_what_was_foretold(
    found: Found, fake_cards: Make, tmp_path: Path
) -> None:
    fake_cards(count=1, memory_mib=CARD_MIB)
    plans = placed(even(found)), placed(found.layers)
    with ThreadPoolExecutor(2) as pool:
        refused, run = pool.map(trained, plans, (tmp_path / "naive", tmp_path / "found"))
    failed = refused.one(events.Failed)
    assert failed.message.startswith(f"Out of memory on GPU:{DEVICES - 1}"), "the last has all"
    assert "ResourceExhausted" in failed.traceback
    assert run.code == 0, run.log
    held = {row.device: row for row in run.of(events.Memory)[-1].devices}
    for memory in predict(plans[1], TWO_CARDS, found.facts)[:DEVICES]:
        row, kept = held[memory.device], memory.weights.bytes + memory.slots.bytes
        assert row.limit == memory.limit_bytes
        assert kept <= row.least < kept + KEPT_BESIDES
        assert NEARLY * memory.total < row.peak <= memory.total
        assert row.peak < FOUND_AT_MOST * memory.limit_bytes
