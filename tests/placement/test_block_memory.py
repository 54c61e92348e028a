"""The search takes a stage to hold, to the byte, what is predicted of a plan with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from made_machines import TWO_CARDS

from gpu_studio.placement.blocks import BlockMemory
from gpu_studio.placement.layer_holds import MetOutputs
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import (
    GraphLayer,
    ModelFacts,
    ModelGraph,
    PlanFacts,
)
from gpu_studio.placement.stage_memory import at_once
from gpu_studio.placement.step_memory import MemoryMoment, StepMemory
from gpu_studio.placement.suggestion import NothingFits, Suggestion, suggest
from gpu_studio.placement.work import by_flops, places, work_of
from gpu_studio.plan import (
    Carve,
    DeviceSettings,
    Distribution,
    Placed,
    Plan,
    Training,
    logical_devices,
)

MODELS = 60


def model_of(random: np.random.Generator) -> ModelFacts:
    """Layers with branches and skips, some without weights, or without memory of their own."""

    def layer(place: int) -> GraphLayer:
        weights, kept, output, flops = (
            int(each) for each in random.integers(0, 40_000, 4) * random.integers(0, 2, 4)
        )
        before = (
            {place - 1, *(int(each) for each in random.integers(0, place, random.integers(0, 3)))}
            if place
            else ()
        )
        inputs = tuple(f"layer_{each}" for each in before)
        return GraphLayer(
            f"layer_{place}", "Dense", inputs, weight_bytes=weights, trainable_bytes=weights // 2,
            output_bytes=output, kept_bytes=kept, flops_forward=float(flops),
            flops_backward=2.0 * flops,
        )  # fmt: skip

    layers = tuple(layer(place) for place in range(int(random.integers(2, 12))))
    graph = ModelGraph("made", layers, input_bytes=int(random.integers(0, 20_000)))
    slots = {each.name: 2 * each.trainable_bytes for each in layers}
    # Of some the step that was rehearsed holds more than the formula says.
    rehearsed = MemoryMoment(
        *(int(each) for each in random.integers(1, 400_000, 2) * random.integers(0, 2))
    )
    return ModelFacts(graph, slots=slots, shared_slots=12, steps={"GPU": StepMemory((rehearsed,))})


def with_kernels(model: ModelFacts, random: np.random.Generator) -> ModelFacts:
    """The model, as it is known to be computed on a card: of some layers more, of some less."""

    def known(layer: GraphLayer) -> GraphLayer:
        scratch, kernels = int(random.integers(0, 2_000_000)), int(random.integers(0, 3))
        return replace(
            layer,
            passing_bytes=int(random.integers(0, 40_000)),
            around_bytes=int(random.integers(0, 2)) * (layer.kept_bytes + layer.output_bytes),
            kernels=((layer.kept_bytes // 2, scratch), (layer.kept_bytes, scratch // 3))[:kernels],
            outlived_bytes=int(random.integers(0, 20_000)),
            spared_bytes=int(random.integers(0, 2)) * bool(layer.inputs) * layer.output_bytes // 2,
            lent_bytes=int(random.integers(0, 2)) * layer.kept_bytes // 3,
            gives_back=int(random.integers(0, 4)),
            added_up_bytes=layer.trainable_bytes // 2,
            keeps_inputs=bool(random.integers(0, 2)),
            meets=tuple(pair for pair in pairwise(_in_order(layer)) if random.integers(0, 2)),
        )

    assert model.graph is not None
    layers = tuple(known(each) for each in model.graph.layers)
    meetings: dict[str, MetOutputs] = {}
    for layer in layers:
        # Which of them comes first in an operation has nothing to do with the order of the layers.
        first, *others = random.permutation(_in_order(layer)).tolist() or [layer.name]
        if others and random.integers(0, 2):
            kept, made = bool(random.integers(0, 2)), int(random.integers(0, 40_000))
            meetings[first] = MetOutputs(tuple(others), kept, made)
    layers = tuple(replace(each, meeting=meetings.get(each.name, each.meeting)) for each in layers)
    return replace(model, graph=replace(model.graph, layers=layers))


def _in_order(layer: GraphLayer) -> list[str]:
    return sorted(layer.inputs, key=lambda name: int(name.removeprefix("layer_")))


def carved(random: np.random.Generator, batch: int) -> Plan:
    """Three slices of a card, small beside such models."""
    slices = tuple(int(each) for each in random.integers(1, 3, 3))
    return Plan(
        devices=DeviceSettings(carve=(Carve("GPU:0", slices),), visible=("GPU:0",)),
        training=Training(batch_size=batch),
    )


@pytest.mark.parametrize("recompute", [False, True])
def test_that_every_block_holds_what_is_predicted_of_it_as_a_stage(recompute: bool) -> None:
    for seed in range(MODELS):
        random = np.random.default_rng(seed)
        model, batch, count = (
            with_kernels(model_of(random), np.random.default_rng(seed + MODELS)),
            int(random.integers(1, 200)),
            int(random.integers(1, 9)),
        )
        assert model.graph is not None
        plan, names = carved(random, batch), [layer.name for layer in model.graph.layers]
        there = places(
            [each for each in logical_devices(plan, TWO_CARDS) if each.name != "CPU:0"],
            TWO_CARDS,
            {},
        )
        work = work_of(
            model, there, batch, {device.name: by_flops(model.graph) for device in there}
        )
        begin, end = sorted(random.integers(0, len(names) + 1, 2))
        stages = [(0, begin), (begin, end), (end, len(names))]
        on = {
            name: (f"GPU:{place}",)
            for place, stage in enumerate(stages)
            for name in names[slice(*stage)]
        }
        part = Distribution("placed", placed=Placed(count, on, recompute))
        block_memory = BlockMemory.of(work, at_once(len(there)), recompute=recompute)
        used = [end > begin for begin, end in stages]
        tables = [
            block_memory.piece(count, range(len(names) + 1), turns=max(1, sum(used[place:])))
            for place in range(len(stages))
        ]
        held = [
            float(table[end, begin]) if end > begin else 0
            for table, (begin, end) in zip(tables, stages, strict=True)
        ]
        predicted = {
            each.device: each.total
            for each in predict(_with(plan, part), TWO_CARDS, PlanFacts(model=model))
        }
        assert [predicted[device.name] for device in there] == pytest.approx(held, abs=0.5)


@pytest.mark.parametrize(("count", "fit_again"), [(None, 0), (2, MODELS / 30)])
def test_that_what_is_found_fits_as_predicted_and_recomputing_makes_more_fit(
    count: int | None, fit_again: float
) -> None:
    found_kept = found_again = 0
    for seed in range(MODELS):
        random = np.random.default_rng(seed)
        model, batch = model_of(random), int(random.integers(1, 200))
        assert model.graph is not None
        plan = carved(random, batch)
        there = places(
            [each for each in logical_devices(plan, TWO_CARDS) if each.name != "CPU:0"],
            TWO_CARDS,
            {},
        )
        found = suggest(
            model,
            there,
            batch,
            {device.name: by_flops(model.graph) for device in there},
            "fastest",
            micro_batches=count,
        )
        found_kept += isinstance(found, Suggestion)
        again = found.recomputed if isinstance(found, NothingFits) else found
        found_again += isinstance(found, NothingFits) and again is not None
        if again is not None:
            on = {layer: (device,) for layer, device in again.layers.items()}
            placed = Distribution("placed", placed=Placed(again.micro_batches, on, again.recompute))
            memories = predict(_with(plan, placed), TWO_CARDS, PlanFacts(model=model))
            assert all(memory.fits is not False for memory in memories)
    assert found_kept > MODELS / 10
    assert found_again > fit_again


def _with(plan: Plan, distribution: Distribution) -> Plan:
    return Plan(devices=plan.devices, training=plan.training, distribution=distribution)
