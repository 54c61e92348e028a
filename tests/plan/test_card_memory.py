"""What TensorFlow can have of a card's memory, at all and now."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan import (
    Card,
    CardUser,
    Carve,
    DeviceSettings,
    Machine,
    Plan,
    PlannedDevice,
    logical_devices,
)
from gpu_studio.plan.card_memory import (
    CONTEXT_MIB,
    OUTSIDE_MIB,
    AvailableMemory,
    available_memory,
    beside_slices_mib,
    by_available_memory,
    given_mib,
    held_by,
    kept_back_mib,
    now_mib,
    outside_mib,
)

L4 = Card(
    0,
    "GPU-4",
    "NVIDIA L4",
    total_mib=23_034,
    used_mib=7_310,
    reserved_mib=472,
    compute_capability="8.9",
)


@pytest.mark.parametrize(
    ("capability", "available", "kept"),
    [
        ("8.9", 100, 100),
        ("8.9", 2047, 225),
        ("6.1", 2048, 500),
        ("7.5", 16_000, 1050),
        ("8.0", 16_000, 1536),
        ("9.0", 16_000, 1800),
        ("12.0", 16_000, 1800),
        ("", 16_000, 1800),
    ],
)
def test_that_of_a_whole_card_as_much_is_kept_back_as_tensorflow_keeps(capability, available, kept):
    card = Card(0, "GPU-1", "card", compute_capability=capability)
    assert kept_back_mib(card, available) == kept


def test_that_the_room_on_a_whole_card_is_what_is_free_less_what_tensorflow_keeps_back():
    room = available_memory([PlannedDevice("GPU:0", "GPU:0")], Machine((L4,)))["GPU:0"]
    assert room == AvailableMemory(23_034 - 472 - 512 - 1536, 23_034 - 472 - 7_310 - 512 - 1536)
    assert room.mib == room.now_mib


@pytest.mark.parametrize(
    ("name", "capability", "usable", "logged"),
    [("T4", "7.5", 14_930, 13_757), ("L4", "8.9", 22_562, 20_549), ("A100", "8.0", 40_339, 38_366)],
)
def test_that_a_whole_free_card_promises_no_more_than_tensorflow_takes_of_it(
    name, capability, usable, logged
):
    card = Card(0, "GPU-1", name, total_mib=usable, used_mib=0, compute_capability=capability)
    room = available_memory([PlannedDevice("GPU:0", "GPU:0")], Machine((card,)))["GPU:0"]
    assert room.mib == room.most_mib == usable - (outside_mib(card) or 0)
    assert logged - 512 <= room.mib <= logged


def test_that_cuda_takes_its_context_first_and_tensorflow_keeps_back_of_what_that_leaves():
    card = Card(0, "GPU-1", "card", total_mib=2_500, used_mib=0, compute_capability="8.0")
    assert given_mib(card, 2_500, carved=False) == 2_500 - CONTEXT_MIB - 225
    assert given_mib(card, 2_500, carved=True) == 2_500 - OUTSIDE_MIB
    assert (
        given_mib(card, CONTEXT_MIB - 1, carved=False)
        == given_mib(card, CONTEXT_MIB - 1, carved=True)
        == 0
    )


def test_that_slices_take_what_is_free_in_their_order():
    machine = Machine((L4,))
    free = given_mib(L4, L4.free_mib or 0, carved=True)
    plan = Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (10_000, 5_000, 5_000)),)))
    found = available_memory(logical_devices(plan, machine), machine)
    assert [found[f"GPU:{place}"].most_mib for place in range(3)] == [10_000, 5_000, 5_000]
    assert [found[f"GPU:{place}"].now_mib for place in range(3)] == [10_000, free - 10_000, 0]
    assert found["CPU:0"] == AvailableMemory()


def test_that_what_is_not_known_is_no_limit():
    machine = Machine((Card(0, "GPU-1", "card"),))
    assert available_memory([PlannedDevice("GPU:0", "GPU:0")], machine)["GPU:0"].mib is None
    assert available_memory([PlannedDevice("GPU:0", "GPU:0", 512)], machine)[
        "GPU:0"
    ] == AvailableMemory(512, None)
    assert by_available_memory(machine.cards) == []


@given(
    total=st.integers(0, 200_000),
    used=st.integers(0, 200_000),
    reserved=st.integers(0, 2000),
    sizes=st.lists(st.integers(1, 60_000), max_size=5),
)
def test_that_nobody_is_promised_more_than_is_free(total, used, reserved, sizes):
    card = Card(0, "GPU-1", "card", total_mib=total, used_mib=used, reserved_mib=reserved)
    machine = Machine((card,))
    plan = Plan(devices=DeviceSettings(carve=(Carve("GPU:0", tuple(sizes)),) if sizes else ()))
    found = [
        room
        for name, room in available_memory(logical_devices(plan, machine), machine).items()
        if name.startswith("GPU")
    ]
    now = [room.now_mib for room in found]
    assert all(mib is not None and mib >= 0 for mib in now)
    assert sum(mib or 0 for mib in now) <= max(0, card.free_mib or 0)
    if sizes:
        assert all(mib == size for mib, size in zip(now, sizes, strict=True)) == (
            sum(sizes) <= max(0, (card.free_mib or 0) - OUTSIDE_MIB)
        )


def test_that_holders_are_named_and_many_are_counted():
    users = (CardUser(4711, 7_373, "python", "grace"), CardUser(9), CardUser(10), CardUser(11))
    assert held_by(users) == "held by python 4711 of grace (7.2 GiB), process 9, 2 others"
    assert held_by(users[:1], {4711: "digits-1"}) == "held by digits-1 of grace (7.2 GiB)"
    assert held_by(()) == ""


def test_that_a_practice_card_is_given_to_tensors_whole():
    card = Card(0, "GPU-9", "Practice card", total_mib=4096, used_mib=96, practice=True)
    assert (given_mib(card, 4096, carved=False), given_mib(card, 4096, carved=True)) == (4096, 4096)
    assert outside_mib(card) == beside_slices_mib(card) == 0
    assert now_mib(card, carved=True) == 4000
    assert beside_slices_mib(L4) == OUTSIDE_MIB
