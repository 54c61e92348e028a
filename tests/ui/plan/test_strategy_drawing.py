"""The picture of each strategy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plans import on_everything

from gpu_studio.plan import STRATEGIES, Card, Distribution, Machine, Placed, Plan, logical_devices
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.ui.kit.device_place import places as device_places
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.plan.strategy_drawing import MOST_BOXES, drawing_of
from gpu_studio.ui.plan.strategy_picture import StrategyPicture

EIGHT_CARDS = Machine(
    tuple(Card(n, f"GPU-{n}", "A card", total_mib=16_000, used_mib=0) for n in range(8)), 64
)
MACHINES = (WITHOUT_CARDS, TWO_CARDS, EIGHT_CARDS)


def a_plan(strategy: str, machine: Machine, **values: object) -> Plan:
    plan = set_strategy(on_everything(machine), strategy)
    return replace(plan, distribution=replace(plan.distribution, **values))


@pytest.mark.parametrize("machine", MACHINES, ids=["CPU", "two cards", "eight cards"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_that_every_link_joins_two_boxes_and_devices_have_their_colours(strategy, machine):
    plan = a_plan(strategy, machine)
    drawing = drawing_of(plan, machine)
    places = device_places(logical_devices(plan, machine), machine)
    for link in drawing.links:
        for row, column in (link.start, link.end):
            assert column < len(drawing.rows[row])
    for row in drawing.rows:
        assert len(row) <= MOST_BOXES
        for box in row:
            assert box.place == places.get(box.title.split(": ")[0])
    assert {"Variables:", "Gradients:", "Batches:"} <= set(drawing.words.replace(".", "").split())


def test_that_the_batch_is_cut_in_the_colours_of_the_replicas():
    drawing = drawing_of(a_plan("mirrored", EIGHT_CARDS), EIGHT_CARDS)
    assert drawing.rows[0][0].parts == tuple(range(8))
    assert drawing.rows[0][0].title == "batch of 64 samples"
    assert [box.title for box in drawing.rows[1]] == ["GPU:0", "GPU:1", "GPU:2", "5 more"]
    assert drawing.rows[2][0].title == "gradients summed: nccl"
    assert drawing.kinds == ("batches", "gradients")


def test_that_variables_of_central_storage_are_where_the_plan_says():
    named = a_plan("central_storage", TWO_CARDS, parameter_device="GPU:1")
    assert drawing_of(named, TWO_CARDS).rows[2][0].title == "GPU:1: variables"
    assert drawing_of(named, TWO_CARDS).rows[2][0].place == 1
    left = a_plan("central_storage", TWO_CARDS)
    assert drawing_of(left, TWO_CARDS).rows[2][0].title == "CPU:0: variables"


@pytest.mark.parametrize("strategy", ["none", "one_device"])
def test_that_what_gets_no_work_is_drawn_idle(strategy):
    busy, idle = drawing_of(a_plan(strategy, TWO_CARDS), TWO_CARDS).rows[1]
    assert not busy.faint
    assert idle.faint
    assert idle.lines == ("idle",)


@pytest.mark.parametrize(("count", "words"), [(1, "in 1 micro-batch"), (4, "in 4 micro-batches")])
def test_that_a_placed_batch_is_cut_in_micro_batches(count, words):
    layers = {"dense": ("GPU:1",), "logits": ("GPU:0",)}
    drawing = drawing_of(a_plan("placed", TWO_CARDS, placed=Placed(count, layers)), TWO_CARDS)
    assert drawing.rows[0][0].title.endswith(words)
    assert len(drawing.rows[0][0].parts) == count
    assert [box.title for box in drawing.rows[1]] == ["GPU:1", "GPU:0"]
    assert drawing.kinds == ("batches", "activations", "gradients")


@pytest.mark.parametrize("strategy", ["multi_worker", "parameter_server"])
def test_that_no_count_of_workers_in_a_file_is_too_large_to_be_drawn(strategy):
    plan = set_strategy(on_everything(WITHOUT_CARDS), strategy)
    plan = replace(plan, cluster=Cluster(workers=2**63 - 1, servers=2**63 - 1))
    drawing = drawing_of(plan, WITHOUT_CARDS)
    assert all(len(row) <= MOST_BOXES for row in drawing.rows)


def test_that_a_strategy_that_nobody_knows_is_drawn_as_one_device():
    drawing = drawing_of(
        replace(on_everything(TWO_CARDS), distribution=Distribution("mirored")), TWO_CARDS
    )
    assert drawing.words == ""
    assert drawing.kinds == ("batches",)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_that_every_picture_is_painted_and_says_what_it_shows(qtbot, mode):
    picture = StrategyPicture(ThemeManager(mode))
    qtbot.addWidget(picture)
    picture.resize(320, 224)
    before = picture.grab().toImage()
    for strategy in STRATEGIES:
        picture.show_drawing(drawing_of(a_plan(strategy, EIGHT_CARDS), EIGHT_CARDS))
        painted = picture.grab().toImage()
        # One device in a strategy looks like one without.
        assert painted != before or strategy == "one_device"
        assert "Variables:" in picture.accessibleDescription()
        before = painted
