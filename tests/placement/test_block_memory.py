"""The search takes a stage to hold, to the byte, what is predicted of a plan with it."""

from __future__ import annotations

import numpy as np
import pytest
from made_graphs import model_of, with_kernels
from made_machines import TWO_CARDS

from gpu_studio.placement.block_amounts import BlockSet
from gpu_studio.placement.block_memory import BlockMemory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.placement.stage_memory import at_once
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

MODELS, MANY_MODELS = 60, 150


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
        block_memory = BlockMemory(work, at_once(len(there)), recompute)
        every = BlockSet.of_rows(range(len(names) + 1), len(names))
        used = [end > begin for begin, end in stages]
        tables = [
            block_memory.held(count, every, turns=max(1, sum(used[place:])))
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


@pytest.mark.slow
@pytest.mark.parametrize(("count", "fit_again"), [(None, 0), (2, MANY_MODELS / 30)])
def test_that_what_is_found_fits_as_predicted_and_recomputing_makes_more_fit(
    count: int | None, fit_again: float
) -> None:
    found_kept = found_again = 0
    for seed in range(MANY_MODELS):
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
    assert found_kept > MANY_MODELS / 10
    assert found_again > fit_again


def _with(plan: Plan, distribution: Distribution) -> Plan:
    return Plan(devices=plan.devices, training=plan.training, distribution=distribution)
