"""The prediction for a real card says that cuDNN's workspaces come besides, and wants them room."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plan_facts import FACTS, MODEL, THREE_LAYERS

from gpu_studio.common.practice import CARD_NAME
from gpu_studio.placement.cautions import cautions_with
from gpu_studio.placement.cudnn_reserve import through_cudnn
from gpu_studio.placement.device_memory import RESERVE_MIB, PredictedMemory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.memory_remedies import MARGIN, Needs, memory_remedies
from gpu_studio.placement.plan_facts import GraphLayer, PlanFacts
from gpu_studio.placement.step_memory import MemoryMoment, StepMemory
from gpu_studio.plan import (
    MIB,
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    Machine,
    ModelSettings,
    Placed,
    Plan,
    Training,
)
from gpu_studio.plan.strategies.placed import placing

LITTLE, TOO_MUCH = "little room for cuDNN", "too much memory"
STEP = StepMemory((MemoryMoment(50 * MIB, MIB),))
"""50 MiB, and another for each sample."""


def facts_with(kind: str, *, convolves: bool = False) -> PlanFacts:
    """A model of three layers, of which the second is of this class."""
    one, two, three = THREE_LAYERS.layers
    graph = replace(THREE_LAYERS, layers=(one, replace(two, kind=kind, convolves=convolves), three))
    model = replace(MODEL, graph=graph, steps={"CPU": STEP, "GPU": STEP})
    return PlanFacts(FACTS.data, model)


CONVOLUTION = facts_with("Conv2D")
DENSE = facts_with("Dense")


def on_slices(*slices: int, batch: int = 50, **values: object) -> Plan:
    distribution = Distribution("one_device", devices=("GPU:0",))
    devices = DeviceSettings(carve=(Carve("GPU:0", slices),) if slices else ())
    training = Training(batch_size=batch, jit_compile=False)
    plan = Plan("made", devices, ModelSettings("mlp"), Data("digits"), training)
    return replace(plan, **{"distribution": distribution, **values})


def first(plan: Plan, facts: PlanFacts = CONVOLUTION, machine: Machine = TWO_CARDS):
    return predict(plan, machine, facts)[0]


def said(plan: Plan, facts: PlanFacts = CONVOLUTION, machine: Machine = TWO_CARDS) -> list[str]:
    return [each.name for each in cautions_with(plan, machine, facts)]


@pytest.mark.parametrize(
    "kind",
    [
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "Conv2DTranspose",
        "SeparableConv2D",
        "DepthwiseConv2D",
        "LSTM",
        "GRU",
        "Bidirectional",
    ],
)
def test_that_workspaces_of_convolutions_and_recurrent_layers_are_told_and_not_predicted(
    kind,
) -> None:
    memory = first(on_slices(4000), facts_with(kind))
    assert memory.without == "cuDNN's workspaces"
    assert "; without cuDNN's workspaces" in memory.total_formula
    assert memory.total == first(on_slices(4000), DENSE).total


@pytest.mark.parametrize("kind", ["Dense", "Embedding", "SimpleRNN", "MultiHeadAttention"])
def test_that_other_layers_leave_nothing_out(kind) -> None:
    memory = first(on_slices(4000), facts_with(kind))
    assert (memory.without, memory.room_bytes) == ("", 0)
    assert "cuDNN" not in memory.total_formula


def test_that_a_layer_of_one_s_own_counts_if_convolutions_were_traced_in_it() -> None:
    assert through_cudnn(GraphLayer("own", "Block", convolves=True))
    assert not through_cudnn(GraphLayer("own", "Block"))
    assert first(on_slices(4000), facts_with("Block", convolves=True)).without


@pytest.mark.parametrize(
    ("room", "fits", "verdict"),
    [(0, None, "may lack room for cuDNN"), (511, None, "may lack room for cuDNN"), (512, True, "")],
)
def test_that_a_step_fits_for_certain_only_with_room_besides(room, fits, verdict) -> None:
    memory = replace(
        PredictedMemory("GPU:0", total=100 * MIB), room_bytes=RESERVE_MIB * MIB
    ).within((100 + room) * MIB)
    assert (memory.fits, memory.lacking) == (fits, verdict)
    assert not memory.waits


def test_that_what_does_not_fit_by_itself_does_not_fit() -> None:
    memory = replace(PredictedMemory("GPU:0", total=100 * MIB), room_bytes=RESERVE_MIB * MIB)
    assert memory.within(99 * MIB).fits is False
    assert memory.within(None).fits is None
    assert not memory.within(None).may_lack


def test_that_practice_cards_and_cpus_leave_nothing_out() -> None:
    cards = tuple(replace(card, practice=True) for card in TWO_CARDS.cards)
    named = tuple(replace(card, name=CARD_NAME) for card in TWO_CARDS.cards)
    practising = replace(TWO_CARDS, cards=cards, practice="2 × 24 GiB")
    for machine in (practising, replace(TWO_CARDS, cards=named), replace(TWO_CARDS, cards=cards)):
        assert not first(on_slices(300), machine=machine).without
        assert first(on_slices(300), machine=machine).fits
    on_cpu = on_slices(distribution=Distribution("one_device", devices=("CPU:0",)))
    assert not any(each.without for each in predict(on_cpu, WITHOUT_CARDS, CONVOLUTION))


def test_that_only_devices_with_such_a_layer_leave_workspaces_out() -> None:
    layers = {"one": ("GPU:0",), "two": ("GPU:1",), "three": ("GPU:0",)}
    plan = on_slices(2000, 2000, distribution=placing(Placed(layers=layers)))
    found = {each.device: each.without for each in predict(plan, TWO_CARDS, CONVOLUTION)}
    assert {name for name, without in found.items() if without} == {"GPU:1"}
    split = {**layers, "two": ("GPU:0", "GPU:1")}
    plan = on_slices(2000, 2000, distribution=placing(Placed(layers=split)))
    found = {each.device: each.without for each in predict(plan, TWO_CARDS, CONVOLUTION)}
    assert {name for name, without in found.items() if without} == {"GPU:0", "GPU:1"}


def test_that_every_replica_counts_and_a_home_of_variables_does_not() -> None:
    mirrored = on_slices(2000, 2000, distribution=Distribution("mirrored"))
    found = predict(mirrored, TWO_CARDS, CONVOLUTION)
    assert all(each.without for each in found if each.device.startswith("GPU") and each.total)
    central = on_slices(2000, 2000, distribution=Distribution("central_storage"))
    found = predict(central, TWO_CARDS, CONVOLUTION)
    assert {each.device for each in found if each.without} == {
        each.device for each in found if each.device.startswith("GPU") and each.total
    }
    assert any(each.device == "CPU:0" and each.total for each in found)


def test_that_the_warning_says_how_much_is_left_and_offers_what_leaves_enough() -> None:
    plan = on_slices(600, 2000, batch=400)
    [caution] = [
        each for each in cautions_with(plan, TWO_CARDS, CONVOLUTION) if each.name == LITTLE
    ]
    assert caution.text.startswith("GPU:0 may lack room for cuDNN: a step leaves ")
    assert "512 MiB are advised" in caution.text
    assert "TF_CUDNN_WORKSPACE_LIMIT_IN_MB=8" in caution.why
    assert not caution.waits
    assert [way.label.partition(" ")[0] for way in caution.remedies] == ["Use", "Give", "Batch"]
    for way in caution.remedies:
        assert LITTLE not in said(way.make(plan))
        assert TOO_MUCH not in said(way.make(plan))


def test_that_it_is_said_once_and_not_beside_what_does_not_fit_nor_where_room_is() -> None:
    assert said(on_slices(600, batch=400)).count(LITTLE) == 1
    over = said(on_slices(300, batch=400))
    assert TOO_MUCH in over
    assert LITTLE not in over
    assert LITTLE not in said(on_slices(2000, batch=400))
    assert LITTLE not in said(on_slices(600, batch=400), DENSE)


def test_that_remedies_after_a_failure_leave_the_room_too() -> None:
    unknown = tuple(replace(card, total_mib=None, used_mib=None) for card in TWO_CARDS.cards)
    machine = replace(TWO_CARDS, cards=unknown)
    plan = on_slices(1000, batch=400)
    for facts, room in ((CONVOLUTION, RESERVE_MIB * MIB), (DENSE, 0)):
        needs = Needs(plan, machine, facts, margin=MARGIN)
        total = first(plan, facts, machine).total
        assert needs.of(plan)["GPU:0"] == round(total * (1 + MARGIN)) + room
        for way in memory_remedies(needs):
            for each in predict(way.make(plan), machine, facts):
                usable = each.usable_bytes
                least = each.total * (1 + MARGIN) + each.room_bytes
                assert usable is None or least <= usable, way.label


def test_that_what_a_device_has_shown_to_need_counts_where_it_is_more_than_the_room() -> None:
    plan = on_slices(1000, batch=400)
    total = first(plan).total
    for beyond in (100 * MIB, 900 * MIB):
        needs = Needs(plan, TWO_CARDS, CONVOLUTION, shown={"GPU:0": total + beyond})
        assert needs.of(plan)["GPU:0"] == total + max(beyond, RESERVE_MIB * MIB)


def test_that_a_slice_that_never_has_the_advised_room_is_offered_a_smaller_batch_after_a_failure():
    needs = Needs(
        on_slices(512, batch=1000),
        TWO_CARDS,
        CONVOLUTION,
        margin=MARGIN,
        shown={"GPU:0": 1100 * MIB},
    )
    assert "Batch 256" in [remedy.label for remedy in memory_remedies(needs)]
