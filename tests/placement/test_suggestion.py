from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS

from gpu_studio.placement.device_memory import RESERVE_MIB
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph
from gpu_studio.placement.search import Lack
from gpu_studio.placement.step_memory import ON_CARD
from gpu_studio.placement.suggestion import NothingFits, Suggestion, candidates, suggest
from gpu_studio.placement.work import (
    Device,
    LayerTime,
    by_flops,
    chosen_devices,
    limits_bytes,
    places,
    work_of,
    workers,
)
from gpu_studio.plan import MIB, Carve, DeviceSettings, Distribution, Machine, Plan

CHAIN = ModelGraph(
    "chain",
    tuple(
        GraphLayer(
            f"layer_{place}",
            "Dense",
            inputs=(f"layer_{place - 1}",) if place else (),
            weight_bytes=1000,
            trainable_bytes=800,
            output_bytes=4,
            kept_bytes=8,
            flops_forward=1e3,
            flops_backward=2e3,
            passing_bytes=8,
        )
        for place in range(4)
    ),
)
MODEL = ModelFacts(graph=CHAIN, slots={f"layer_{place}": 1600 for place in range(4)})
TWO = [Device("GPU:0"), Device("GPU:1")]


def flops(devices: list[Device]) -> dict[str, dict[str, LayerTime]]:
    return {device.name: dict(by_flops(CHAIN)) for device in devices}


def test_that_work_holds_what_the_model_says_of_itself() -> None:
    work = work_of(MODEL, TWO, 16, flops(TWO))
    assert work.names == ("layer_0", "layer_1", "layer_2", "layer_3")
    assert work.inputs == ((), (0,), (1,), (2,))
    assert work.state_bytes.tolist() == [3400.0] * 4
    assert work.gradient_bytes.tolist() == [800.0] * 4
    assert (work.kept_bytes.tolist(), work.passing_bytes.tolist()) == ([8.0] * 4, [8.0] * 4)
    assert work.seconds(2).tolist() == [[8 * 3e3] * 4] * 2
    assert work.forward_share.tolist() == pytest.approx([1 / 3] * 4)


def test_that_even_layers_are_split_in_the_middle_into_as_many_micro_batches_as_help() -> None:
    found = suggest(MODEL, TWO, 64, flops(TWO), "fastest")
    assert isinstance(found, Suggestion)
    assert found.layers == {
        "layer_0": "GPU:0",
        "layer_1": "GPU:0",
        "layer_2": "GPU:1",
        "layer_3": "GPU:1",
    }
    assert found.micro_batches == 32
    assert found.step.bubble == pytest.approx(1 / 33)


def test_that_replicas_are_called_better_where_they_are_and_one_device_is_not() -> None:
    found = suggest(MODEL, TWO, 64, flops(TWO), "fastest", micro_batches=2)
    assert isinstance(found, Suggestion)
    assert found.better is not None
    assert found.better.strategy == "mirrored"
    assert [other.strategy for other in found.others] == ["mirrored", "one_device", "one_device"]


def test_that_with_one_worker_the_whole_model_stays_on_one_device_in_one_piece() -> None:
    slow = {
        name: {layer: LayerTime(1.0, 1.0, 1.0, 1.0) for layer in times}
        for name, times in flops(TWO).items()
    }
    found = suggest(MODEL, TWO, 8, slow, "fastest", workers=1)
    assert isinstance(found, Suggestion)
    assert len(set(found.layers.values())) == 1
    assert found.micro_batches == 1
    assert found.better is None


def test_that_what_has_no_room_is_lacking_and_what_has_room_nowhere_whole_is_no_alternative() -> (
    None
):
    small = [Device("GPU:0", 8700.0), Device("GPU:1", 8700.0)]
    found = suggest(MODEL, small, 1, flops(small), "fastest")
    assert isinstance(found, Suggestion)
    assert found.others == ()
    tiny = [Device("GPU:0", 3000.0)]
    # Weights and slots; with the margin the gradients, and as much again for the updates.
    whole = 4 * (1000 + 1600) + ON_CARD * (4 * 800 + 4 * 800)
    assert suggest(MODEL, tiny, 1, flops(tiny), "fastest") == NothingFits(
        (Lack("GPU:0", whole - 3000.0),)
    )


def used(kind: str, room: float) -> set[str]:
    """The devices that the fewest transfers take, if the first layer is of this class.

    Each has room for the whole model, in one piece and recomputed or not.
    """
    one, *others = CHAIN.layers
    graph = replace(CHAIN, layers=(replace(one, kind=kind), *others))
    devices = [Device(each.name, 18_000.0, reserve=room) for each in TWO]
    found = suggest(replace(MODEL, graph=graph), devices, 1, flops(devices), "fewest_transfers", 1)
    assert isinstance(found, Suggestion)
    assert not found.recompute
    return set(found.layers.values())


def test_that_room_is_left_for_cudnn_where_layers_are_computed_through_it() -> None:
    assert len(used("Conv2D", 0.0)) == 1
    assert len(used("Conv2D", 9_000.0)) == 2
    assert len(used("Dense", 9_000.0)) == 1


@pytest.mark.parametrize("room", [15_000.0, 18_000.0, 20_000.0])
def test_that_a_model_is_placed_where_no_placement_leaves_that_room(room: float) -> None:
    assert len(used("Conv2D", room)) == 1


def test_that_a_real_card_is_to_leave_room_for_cudnn_and_a_cpu_and_a_practice_card_are_not() -> (
    None
):
    plan = Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (1024, 2048)),)))
    cards = chosen_devices(plan, TWO_CARDS)
    assert {each.reserve for each in places(cards, TWO_CARDS, {})} == {RESERVE_MIB * MIB}
    practised = replace(
        TWO_CARDS, cards=tuple(replace(each, practice=True) for each in TWO_CARDS.cards)
    )
    assert {each.reserve for each in places(cards, practised, {})} == {0}
    cpus = chosen_devices(Plan(), WITHOUT_CARDS)
    assert {each.reserve for each in places(cpus, WITHOUT_CARDS, {})} == {0}


def test_that_micro_batches_have_a_sample_each() -> None:
    assert candidates(1) == (1,)
    assert candidates(5) == (1, 2, 4)
    assert candidates(1000) == (1, 2, 4, 8, 16, 32)


def test_that_a_model_that_is_not_known_says_why() -> None:
    with pytest.raises(ValueError, match="the shapes differ"):
        work_of(ModelFacts(model_error="the shapes differ"), TWO, 1, {})


def test_that_slices_and_cards_have_their_limits_and_a_cpu_has_none() -> None:
    plan = Plan(
        devices=DeviceSettings(carve=(Carve("GPU:0", (1024, 2048)),)),
        distribution=Distribution("placed"),
    )
    devices = chosen_devices(plan, TWO_CARDS)
    assert [device.name for device in devices] == ["GPU:0", "GPU:1", "GPU:2"]
    limits = list(limits_bytes(devices, TWO_CARDS).values())
    assert limits[:2] == [1024 * MIB, 2048 * MIB]
    assert limits[2] is not None
    assert [place.limit for place in places(devices, TWO_CARDS, {})] == limits
    (cpu,) = chosen_devices(Plan(), WITHOUT_CARDS)
    assert limits_bytes([cpu], WITHOUT_CARDS) == {cpu.name: None}


def test_that_slices_of_a_card_take_turns_and_cards_do_not() -> None:
    carved = Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (512, 512)),)))
    assert workers(chosen_devices(carved, TWO_CARDS), TWO_CARDS) == 2
    cpus = Plan(devices=DeviceSettings(carve=(Carve("CPU:0", (0,) * 4),)))
    machine = Machine(cpu_cores=3)
    assert workers(chosen_devices(cpus, machine), machine) == 1
    assert workers(chosen_devices(cpus, machine), machine, threads_per_operation=1) == 3
