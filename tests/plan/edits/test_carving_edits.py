from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plans import on_everything

from gpu_studio.plan import (
    Carve,
    DeviceSettings,
    Distribution,
    Placed,
    Plan,
    logical_devices,
    validate,
)
from gpu_studio.plan.carving import (
    CardSlices,
    Carved,
    capacity_mib,
    change_of,
    equal_change,
    set_cut,
    set_slices,
    slices_of,
)

ROOM = min(capacity_mib(card) or 0 for card in TWO_CARDS.cards)
STEPS = ("end", "halve", "merge", "remove", "add", "equal", "slices")


def stepped(plan: Plan, device: str, step: str, index: int, size: int) -> Plan:
    """A plan after something that a person can do to a card."""
    cut = CardSlices.of(slices_of(plan, device, TWO_CARDS) or (ROOM - 1024,))
    index = min(index, len(cut.sizes) - 1)
    if step == "slices":
        return set_slices(plan, device, 1 + index, TWO_CARDS)
    if step == "merge":
        return set_cut(
            plan, device, cut.merged(index) if index + 1 < len(cut.sizes) else cut, TWO_CARDS
        )
    done = {
        "end": lambda: cut.with_end(index, size, ROOM),
        "halve": lambda: cut.halved(index) if cut.sizes[index] > 1 else cut,
        "remove": lambda: cut.without(index),
        "add": lambda: cut.with_another(ROOM, 0),
        "equal": cut.equalised,
    }
    return set_cut(plan, device, done[step](), TWO_CARDS)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("GPU:0", "GPU:1")),
            st.sampled_from(STEPS),
            st.integers(0, 7),
            st.integers(1, 40_000),
        ),
        max_size=12,
    ),
    st.sampled_from(("mirrored", "one_device", "central_storage", "none")),
)
def test_that_whatever_is_done_to_cards_leaves_a_plan_that_can_run(steps, strategy: str) -> None:
    devices = ("GPU:1",) if strategy != "none" else ()
    plan = replace(on_everything(TWO_CARDS), distribution=Distribution(strategy, devices))
    for device, step, index, size in steps:
        plan = stepped(plan, device, step, index, size)
    assert validate(plan, TWO_CARDS) == []


def test_that_a_moved_end_loses_nothing_that_the_plan_says_of_devices() -> None:
    carved = set_slices(on_everything(TWO_CARDS), "GPU:0", 4, TWO_CARDS)
    chosen = Distribution("mirrored", ("GPU:0", "GPU:2"), placed=Placed(2, {"dense": ("GPU:1",)}))
    before = replace(carved, distribution=chosen)
    moved = CardSlices.of(slices_of(before, "GPU:0", TWO_CARDS)).with_end(1, 1000, ROOM)
    after = set_cut(before, "GPU:0", moved, TWO_CARDS)
    assert after.distribution == chosen
    assert after.devices.carve[0].slices_mib == moved.sizes


def test_that_named_devices_follow_the_slices_that_they_are() -> None:
    carved = set_slices(on_everything(TWO_CARDS), "GPU:0", 3, TWO_CARDS)
    layers = {"a": ("GPU:0",), "b": ("GPU:1", "GPU:2"), "c": ("GPU:1",), "d": ("GPU:3",)}
    chosen = Distribution(
        "placed", ("GPU:2", "GPU:3"), parameter_device="GPU:3", placed=Placed(1, layers)
    )
    before = replace(carved, distribution=chosen)
    cut = CardSlices.of(slices_of(before, "GPU:0", TWO_CARDS))
    after = set_cut(before, "GPU:0", cut.without(1), TWO_CARDS).distribution
    assert after.devices == ("GPU:1", "GPU:2")
    assert after.parameter_device == "GPU:2"
    assert after.placed is not None
    assert after.placed.layers == {"a": ("GPU:0",), "b": ("GPU:1",), "d": ("GPU:2",)}


def test_that_a_plan_that_named_all_devices_takes_all_again() -> None:
    before = replace(
        on_everything(TWO_CARDS), distribution=Distribution("mirrored", ("GPU:1", "GPU:0"))
    )
    assert set_slices(before, "GPU:1", 4, TWO_CARDS).distribution.devices == ()
    only_first = replace(before, distribution=Distribution("mirrored", ("GPU:0",)))
    assert set_slices(only_first, "GPU:1", 4, TWO_CARDS).distribution.devices == ("GPU:0",)


def test_that_a_name_that_never_was_is_left_for_the_rules() -> None:
    before = replace(on_everything(TWO_CARDS), distribution=Distribution("mirrored", ("GPU:9",)))
    assert set_slices(before, "GPU:0", 2, TWO_CARDS).distribution.devices == ("GPU:9",)


@pytest.mark.parametrize("device", ["GPU:0", "CPU:0"])
def test_that_every_carve_ends_growth(device: str) -> None:
    before = replace(on_everything(TWO_CARDS), devices=DeviceSettings(memory_growth=True))
    assert validate(set_slices(before, device, 2, TWO_CARDS), TWO_CARDS) == []
    assert set_slices(before, device, 1, TWO_CARDS) == before


def test_that_a_carve_keeps_its_place_and_its_name() -> None:
    carves = (Carve("GPU-1", (1024, 1024)), Carve("CPU:0", (0, 0)))
    before = replace(on_everything(TWO_CARDS), devices=DeviceSettings(carve=carves))
    after = set_cut(before, "GPU:1", CardSlices.of((2048,)), TWO_CARDS)
    assert after.devices.carve == (Carve("GPU-1", (2048,)), carves[1])
    assert set_cut(after, "GPU:1", CardSlices.of(()), TWO_CARDS).devices.carve == carves[1:]


def test_that_a_device_carved_twice_in_a_file_is_carved_once_after_an_edit() -> None:
    before = replace(
        on_everything(TWO_CARDS),
        devices=DeviceSettings(carve=(Carve("GPU:0", (1,)), Carve("GPU-0", (2,)))),
    )
    assert set_cut(before, "GPU:0", CardSlices.of((512, 512)), TWO_CARDS).devices.carve == (
        Carve("GPU:0", (512, 512)),
    )


def test_that_changes_say_what_they_do_and_do_it() -> None:
    plan = on_everything(WITHOUT_CARDS)
    halves = equal_change("CPU:0", 2, WITHOUT_CARDS)
    assert halves.text == "cut the CPU into 2"
    assert len(logical_devices(halves.make(plan), WITHOUT_CARDS)) == 2
    assert equal_change("CPU:0", 1, WITHOUT_CARDS).text == "leave the CPU whole"
    carved = change_of(Carved("GPU:0", CardSlices.of((64, 32)), "resize", "here"), TWO_CARDS)
    assert (carved.text, carved.field) == ("resize", "here")
    assert slices_of(carved.make(on_everything(TWO_CARDS)), "GPU:0", TWO_CARDS) == (64, 32)
