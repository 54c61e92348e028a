"""Gradients of replicas: rows that they look up in a table are gathered, and others may wait."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS
from made_plan_facts import FACTS, MODEL

from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.placement.step_memory import ON_CARD
from gpu_studio.plan import Carve, DeviceSettings, Distribution, Plan, Training

REPLICAS, EACH = 3, 20
WAYS = ("reduction_to_one_device", "ring", "hierarchical_copy")


def facts_with_rows(row_bytes: int) -> PlanFacts:
    """The first layer with weights is a table, of which a sample looks up so much."""
    assert MODEL.graph is not None
    layers = list(MODEL.graph.layers)
    place = next(place for place, each in enumerate(layers) if each.trainable_bytes)
    layers[place] = replace(layers[place], row_bytes=row_bytes)
    steps = {**MODEL.steps, "GPU": MODEL.steps.get("GPU", MODEL.steps["CPU"])}
    graph = replace(MODEL.graph, layers=tuple(layers))
    return replace(FACTS, model=replace(MODEL, graph=graph, steps=steps))


def totals(way: str, row_bytes: int) -> list[int]:
    return predicted(way, facts_with_rows(row_bytes))


def predicted(way: str, facts: PlanFacts) -> list[int]:
    devices = tuple(f"GPU:{number}" for number in range(REPLICAS))
    asked = Plan(
        devices=DeviceSettings(carve=(Carve("GPU:0", (300,) * REPLICAS),)),
        training=Training(batch_size=REPLICAS * EACH),
        distribution=Distribution("mirrored", devices=devices, all_reduce=way),
    )
    return [each.total for each in predict(asked, TWO_CARDS, facts)][:REPLICAS]


@pytest.mark.parametrize("way", WAYS)
def test_that_each_card_has_the_rows_that_all_replicas_look_up(way: str) -> None:
    """A trace showed those of four beside what changes the table, on every card."""
    rows = 4
    more = [round(ON_CARD * rows * EACH * (REPLICAS - 1))] * REPLICAS
    few, none = totals(way, rows), totals(way, 1)
    ones = round(ON_CARD * EACH * (REPLICAS - 1))
    assert [a - b for a, b in zip(few, none, strict=True)] == [each - ones for each in more]


def test_that_squares_of_many_rows_count_as_well() -> None:
    assert MODEL.graph is not None
    table = next(each.trainable_bytes for each in MODEL.graph.layers if each.trainable_bytes)
    many = table  # of a sample: those of all are far more than the table
    gone = totals("ring", many)[0] - totals("ring", 1)[0]
    others = many * EACH * (REPLICAS - 1)
    assert gone == round(ON_CARD * 2 * others) - round(ON_CARD * EACH * (REPLICAS - 1))


def test_that_the_gradients_of_a_table_are_not_packed() -> None:
    assert MODEL.graph is not None
    table = next(each.trainable_bytes for each in MODEL.graph.layers if each.trainable_bytes)
    packed, alone = totals("hierarchical_copy", 0), totals("hierarchical_copy", 1)
    rows = round(ON_CARD * EACH * (REPLICAS - 1))
    assert packed[0] - alone[0] == 2 * table - rows


def test_that_the_gradients_of_other_layers_wait_on_a_card_for_the_last_one() -> None:
    """With a ring a residual net's first kernel ran beside the gradients of all others."""
    assert MODEL.graph is not None
    sizes = sorted(each.trainable_bytes for each in MODEL.graph.layers)
    assert sizes[-1] > sum(sizes[:-1])  # so that the largest one's sum is more
    alone = totals("ring", 0)[0]
    layers = MODEL.graph.layers
    even = [replace(each, trainable_bytes=500) for each in layers]
    steps = {**MODEL.steps, "GPU": MODEL.steps.get("GPU", MODEL.steps["CPU"])}
    graph = replace(MODEL.graph, layers=tuple(even))
    facts = replace(FACTS, model=replace(MODEL, graph=graph, steps=steps))
    ring, packed = (predicted(way, facts)[0] for way in ("ring", "hierarchical_copy"))
    assert packed - ring == (2 * len(even) - (len(even) - 1)) * 500
    assert alone == totals("hierarchical_copy", 0)[0] - 2 * sum(sizes) + sizes[-1]
