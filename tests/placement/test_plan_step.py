"""A step of a plan under its own strategy, by the times of its layers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph
from gpu_studio.placement.plan_step import global_batch, step_seconds
from gpu_studio.placement.work import LayerTime
from gpu_studio.plan import Card, Distribution, Machine, Placed, Plan, Training

MACHINE = Machine(tuple(Card(n, f"GPU-{n}", "a card") for n in range(2)))
LAYERS = (
    GraphLayer("one", "Dense", trainable=1, trainable_bytes=1000, output_bytes=100),
    GraphLayer("two", "Dense", inputs=("one",), trainable=1, trainable_bytes=1000),
)
MODEL = ModelFacts(graph=ModelGraph("m", LAYERS))
TIME = LayerTime(forward_per_sample=1.0, backward_per_sample=2.0, update=1.0)
TIMES = {name: {"one": TIME, "two": TIME} for name in ("GPU:0", "GPU:1")}


def plan(strategy: str, scope: str = "global", **more) -> Plan:
    training = Training(batch_size=8, batch_scope=scope)
    return Plan(training=training, distribution=Distribution(strategy, **more))


def seconds(chosen: Plan, times=TIMES, links=None) -> float | None:
    return step_seconds(chosen, MACHINE, MODEL, times, links or {})


def test_that_one_device_does_all_and_two_share_the_batch():
    assert seconds(plan("one_device")) == 2 * 8 * 3 + 2
    assert seconds(plan("mirrored")) == 2 * 4 * 3 + 2
    # 2 · (K - 1) / K of 2,000 bytes, at 1,000 bytes/s.
    assert seconds(plan("mirrored"), links={"GPU:0": 1e3, "GPU:1": 1e3}) == 26 + 2


def test_that_a_batch_for_each_replica_is_as_many_samples_more():
    each = plan("mirrored", "replica")
    assert (global_batch(each, MACHINE), global_batch(plan("mirrored"), MACHINE)) == (16, 8)
    assert seconds(each) == 2 * 8 * 3 + 2
    assert global_batch(plan("one_device", "replica"), MACHINE) == 8


def test_that_a_placed_step_goes_from_device_to_device():
    both = Placed(1, {"one": ("GPU:0",), "two": ("GPU:1",)})
    placed = plan("placed", placed=both)
    assert seconds(placed) == pytest.approx(2 * 8 * 3 + 1)
    parts = replace(
        placed, distribution=Distribution("placed", placed=replace(both, micro_batches=4))
    )
    shorter, whole = seconds(parts), seconds(placed)
    assert shorter is not None
    assert whole is not None
    assert shorter < whole
    again = plan("placed", placed=replace(both, recompute=True))
    assert (seconds(again) or 0) > whole


def test_that_nothing_is_said_without_layers_times_or_devices():
    assert step_seconds(plan("mirrored"), MACHINE, ModelFacts(), TIMES, {}) is None
    assert seconds(plan("mirrored"), {"GPU:0": TIMES["GPU:0"]}) is None
    assert seconds(plan("placed", placed=Placed(1, {"one": ("GPU:7",)}))) is None
