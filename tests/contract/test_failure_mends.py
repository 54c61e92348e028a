from __future__ import annotations

import pytest

from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.events import DeviceMemory, LogicalDevice
from gpu_studio.contract.failure_mends import (
    against_divergence,
    against_want_of_memory,
    offered,
    without_device,
)
from gpu_studio.plan import loads, with_value

MIB = 1024 * 1024
PLAN = loads(
    'version = 1\n[model]\nname = "mlp"\n[data]\nname = "digits"\n[training]\nbatch_size = 64\n'
)
SLICED = with_value(PLAN, "devices.carve", [{"device": "GPU:0", "slices_mib": [1024, 1024]}])
SLICES = [LogicalDevice(name=f"GPU:{index}", physical="GPU:0", limit_mib=1024) for index in (0, 1)]


def texts(mends: list[SuggestedChange]) -> list[str]:
    return [mend.text for mend in mends]


def held(*peaks: int) -> list[DeviceMemory]:
    return [
        DeviceMemory(
            device=f"GPU:{index}", current=0, peak=peak * MIB, source="allocator", limit=1024 * MIB
        )
        for index, peak in enumerate(peaks)
    ]


def test_that_half_the_batch_and_mixed_precision_are_offered_against_want_of_memory():
    mends = against_want_of_memory(PLAN)
    assert texts(mends) == ["Halve the batch: 32", "Mixed precision"]
    assert with_value(PLAN, mends[0].field, mends[0].value).training.batch_size == 32


def test_that_a_batch_of_one_is_not_halved():
    assert texts(against_want_of_memory(with_value(PLAN, "training.batch_size", 1))) == [
        "Mixed precision"
    ]


def test_that_a_placed_plan_is_offered_micro_batches_and_recomputing():
    placed = with_value(
        with_value(PLAN, "distribution.strategy", "placed"),
        "distribution.placed",
        {"micro_batches": 4},
    )
    assert {"8 micro-batches", "Recompute activations"} < set(texts(against_want_of_memory(placed)))


def test_that_a_slice_gets_the_room_that_its_neighbour_left_unused():
    mends = against_want_of_memory(SLICED, "GPU:0", SLICES, held(1020, 300))
    (larger,) = [mend for mend in mends if mend.field == "devices.carve"]
    first, second = with_value(SLICED, larger.field, larger.value).devices.carve[0].slices_mib
    assert first > 1024 > second > 300
    assert first + second == 2048
    assert larger.text == f"Give GPU:0 {first - 1024:,} MiB of GPU:1"


@pytest.mark.parametrize("peaks", [(1020, 1000), (1020,)])
def test_that_a_neighbour_without_room_or_figures_gives_none(peaks):
    mends = against_want_of_memory(SLICED, "GPU:0", SLICES, held(*peaks))
    assert "devices.carve" not in [mend.field for mend in mends]


def test_that_a_diverged_run_is_offered_smaller_steps_and_clipping():
    mends = against_divergence(PLAN)
    assert texts(mends) == ["Halve the learning rate: 0.0005", "Clip the gradients"]
    assert with_value(PLAN, mends[1].field, mends[1].value).training.options == {
        "global_clipnorm": 1.0
    }


def test_that_clipping_is_offered_once_and_full_precision_only_after_mixed():
    plan = with_value(
        with_value(PLAN, "training.options", {"clipnorm": 2.0}), "training.mixed_precision", True
    )
    assert texts(against_divergence(plan)) == ["Halve the learning rate: 0.0005", "Full precision"]


def test_that_a_lost_device_is_left_out_where_there_are_others():
    mirrored = with_value(PLAN, "distribution.strategy", "mirrored")
    (mend,) = without_device(mirrored, "GPU:1", ["GPU:0", "GPU:1", "GPU:2"])
    assert (mend.field, mend.value) == ("distribution.devices", ["GPU:0", "GPU:2"])
    assert without_device(mirrored, "GPU:0", ["GPU:0"]) == []


def test_that_nothing_is_offered_that_no_plan_can_hold():
    wrong = [
        SuggestedChange(text="a", field="training.nonsense", value=1),
        SuggestedChange(text="b", field="training.batch_size", value=0),
    ]
    same = SuggestedChange(text="c", field="training.batch_size", value=64)
    assert offered(PLAN, [*wrong, same]) == []
