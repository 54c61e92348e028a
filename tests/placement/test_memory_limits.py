"""With limits that the naive placements break, the one that is found trains.

TensorFlow refuses memory limits for logical CPUs, and all of them share the host's one arena. Its limit is a real one,
though: it is that of a single device where everything is on that, and of all together where layers are on several. What
each of several holds of it is measured, piece by piece.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import device_peaks
import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS
from training_runs import Finished, small_plan, trained

from gpu_studio.placement.estimate import by_flops
from gpu_studio.placement.memory import predict
from gpu_studio.placement.model_graph import ModelGraph
from gpu_studio.placement.places import chosen_devices, places
from gpu_studio.placement.plan_facts import ModelFacts, PlanFacts, decoded
from gpu_studio.placement.suggestion import Suggestion, suggest
from gpu_studio.plan import MIB, Carve, Devices, Placed, Plan, save
from gpu_studio.runs import events
from gpu_studio.runs.questions.plan_question import ask_about

LIMIT_MIB = 48
BATCH = 32
PLAN = small_plan(
    # The later half of the layers has nearly all of the weights: half of the layers is not half of the memory.
    "model.options={ hidden = [64, 64, 64, 64, 1024, 1024, 1024, 1024, 1024] }",
    "data.name=synthetic",
    "data.options={ shape = [64], samples = 100, classes = 4 }",
    f"training.batch_size={BATCH}",
    "training.epochs=1",
    "training.checkpoint.every_epochs=0",
    "devices.carve=[{ device = 'CPU:0', slices_mib = [0, 0] }]",
)
SLICED = Devices(carve=(Carve("GPU:0", (LIMIT_MIB, LIMIT_MIB)),), visible=("GPU:0",))


@dataclass(frozen=True)
class Found:
    """What is known of the model, and the placement that was found for it over two devices with limits."""

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
    """The facts of the plan, from TensorFlow, and what the search finds for two slices."""
    facts = decoded(ask_about(PLAN, tmp_path_factory.mktemp("asked")))
    assert facts.model is not None
    assert facts.model.graph is not None
    devices = places(chosen_devices(replace(PLAN, devices=SLICED), TWO_CARDS), TWO_CARDS, {})
    times = {device.name: by_flops(facts.model.graph) for device in devices}
    suggestion = suggest(facts.model, devices, BATCH, times, "fastest", micro_batches=2)
    assert isinstance(suggestion, Suggestion)
    return Found(facts, suggestion.layers)


def placed(layers: Mapping[str, str], device: str) -> Plan:
    """The plan with its layers on these devices, of the kind `device`."""
    on = {name: (f"{device}:{home.partition(':')[2]}",) for name, home in layers.items()}
    distribution = replace(PLAN.distribution, strategy="placed", placed=Placed(2, on))
    return replace(PLAN, devices=SLICED if device == "GPU" else PLAN.devices, distribution=distribution)


def halves(found: Found) -> dict[str, str]:
    """Half of the layers on each slice, the naive placement."""
    names = [layer.name for layer in found.graph.layers]
    return {name: f"GPU:{place * 2 // len(names)}" for place, name in enumerate(names)}


def totals(layers: Mapping[str, str], facts: PlanFacts) -> list[int]:
    """What is predicted of both slices, in bytes; each knows its limit."""
    memory = predict(placed(layers, "GPU"), TWO_CARDS, facts)
    used = [each for each in memory if each.device.startswith("GPU")]
    assert [each.limit_bytes for each in used] == [LIMIT_MIB * MIB] * 2
    return [each.total for each in used]


@pytest.mark.slow
def test_that_only_the_placement_that_was_found_is_within_the_limits(found: Found) -> None:
    names = [layer.name for layer in found.graph.layers]
    limit = LIMIT_MIB * MIB
    assert max(totals(dict.fromkeys(names, "GPU:0"), found.facts)) > limit
    assert max(totals(halves(found), found.facts)) > limit
    assert max(totals(found.layers, found.facts)) <= limit


def trained_within(plan: Plan, folder: Path, mib: int) -> Finished:
    """A run of the plan with a real limit to what the host's arena gives out."""
    limit = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(mib)}
    return trained(plan, folder, environment={**os.environ, **limit})


@pytest.mark.slow
def test_that_a_real_allocator_refuses_what_the_limit_forbids_and_gives_what_the_placement_needs(
    found: Found, tmp_path: Path
) -> None:
    together = placed(dict.fromkeys(found.layers, "CPU:0"), "CPU")
    apart = placed(found.layers, "CPU")
    with ThreadPoolExecutor(2) as pool:
        refused = pool.submit(trained_within, together, tmp_path / "together", LIMIT_MIB)
        given = pool.submit(trained_within, apart, tmp_path / "apart", 2 * LIMIT_MIB)
        failed, run = refused.result(), given.result()
    assert failed.one(events.Failed).message.startswith("Out of memory on CPU:")
    assert "ResourceExhausted" in failed.one(events.Failed).traceback
    assert run.code == 0, run.log
    held = {row.device: row.current for row in run.of(events.Memory)[-1].devices}
    for memory in predict(apart, WITHOUT_CARDS, found.facts):
        assert held[memory.device] == memory.weights.bytes + memory.slots.bytes
        assert memory.total <= LIMIT_MIB * MIB


@pytest.mark.slow
def test_that_on_each_device_real_steps_hold_no_more_than_its_limit_where_the_naive_placement_holds_more(
    found: Found, tmp_path: Path
) -> None:
    plans = {tmp_path / "naive.plan.toml": halves(found), tmp_path / "found.plan.toml": found.layers}
    for path, layers in plans.items():
        save(placed(layers, "CPU"), path)
    naive, ours = device_peaks.peaks(list(plans), tmp_path)
    assert naive["CPU:1"] > LIMIT_MIB * MIB
    assert max(ours.values()) <= LIMIT_MIB * MIB
    # Nearly all that was held is accounted for, and it is about what was predicted.
    assert max(ours[device_peaks.NO_LAYER], naive[device_peaks.NO_LAYER]) < MIB
    for memory in predict(placed(found.layers, "CPU"), WITHOUT_CARDS, found.facts):
        assert ours[memory.device] == pytest.approx(memory.total, rel=0.2)
