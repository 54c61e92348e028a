from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS
from made_plans import on_everything

from gpu_studio.plan import (
    Card,
    Carve,
    DeviceSettings,
    Distribution,
    Machine,
    Plan,
    validate,
    visible_cards,
)
from gpu_studio.plan.carving import CardSlices, set_cut, set_slices
from gpu_studio.plan.edits.visibility import (
    forget_device,
    hide_card,
    name_by_number,
    name_by_uuid,
    named_cards,
    names_by_uuid,
    set_devices,
    show_card,
)

EIGHT = Machine(
    tuple(
        Card(number, f"GPU-5d{number}", "Card", total_mib=8192, used_mib=0) for number in range(8)
    ),
    16,
)
cards = st.sampled_from([card.device for card in EIGHT.cards])


def on_eight(**devices) -> Plan:
    return replace(on_everything(EIGHT), devices=DeviceSettings(**devices))


def seen(plan: Plan) -> list[str]:
    return [card.device for card in visible_cards(plan.devices, EIGHT)]


@given(st.lists(st.tuples(cards, st.booleans()), max_size=20), st.booleans())
def test_that_cards_shown_and_hidden_are_those_that_tensorflow_sees(steps, by_uuid: bool) -> None:
    plan = on_eight()
    wanted = set(seen(plan))
    for device, shown in steps:
        plan = show_card(plan, device, EIGHT) if shown else hide_card(plan, device, EIGHT)
        plan = name_by_uuid(plan, EIGHT) if by_uuid else plan
        wanted = wanted | {device} if shown else wanted - {device}
    assert set(seen(plan)) == wanted
    assert seen(plan) == sorted(wanted)
    assert validate(plan, EIGHT) == []


def test_that_a_plan_without_visible_cards_names_the_cpu() -> None:
    plan = on_eight(visible=("GPU:3",))
    hidden = hide_card(plan, "GPU:3", EIGHT)
    assert hidden.devices.visible == ("CPU:0",)
    assert show_card(hidden, "GPU:5", EIGHT).devices.visible == ("GPU:5",)


def test_that_all_cards_shown_need_no_names() -> None:
    plan = hide_card(on_eight(), "GPU:2", EIGHT)
    assert seen(plan) == [f"GPU:{k}" for k in range(8) if k != 2]
    assert show_card(plan, "GPU:2", EIGHT).devices.visible == ()


def test_that_an_order_of_ones_own_stays() -> None:
    plan = on_eight(visible=("GPU:4", "GPU:1"))
    assert show_card(plan, "GPU:2", EIGHT).devices.visible == ("GPU:4", "GPU:1", "GPU:2")


def test_that_a_hidden_card_is_no_longer_carved_and_names_follow() -> None:
    plan = set_slices(on_everything(TWO_CARDS), "GPU:0", 2, TWO_CARDS)
    plan = replace(plan, distribution=Distribution("one_device", ("GPU:2",)))
    hidden = hide_card(plan, "GPU:0", TWO_CARDS)
    assert hidden.devices.carve == ()
    assert hidden.distribution.devices == ("GPU:0",)
    assert validate(hidden, TWO_CARDS) == []


@given(st.lists(cards, unique=True), st.lists(cards, unique=True))
def test_that_names_by_uuid_and_by_number_mean_the_same_cards(
    visible: list[str], carved: list[str]
) -> None:
    plan = on_eight(visible=tuple(visible), carve=tuple(Carve(device, (64,)) for device in carved))
    uuids = name_by_uuid(plan, EIGHT)
    assert all(name.startswith("GPU-") for name in named_cards(uuids))
    assert names_by_uuid(uuids) == bool(visible or carved)
    assert name_by_number(uuids, EIGHT) == plan
    assert seen(uuids) == seen(plan)


def test_that_the_beginning_of_a_uuid_becomes_all_of_it() -> None:
    assert name_by_uuid(on_eight(visible=("GPU-5d3", "CPU:0")), EIGHT).devices.visible == (
        "GPU-5d3",
        "CPU:0",
    )
    asleep = Machine((Card(0, "", "Card, asleep", asleep=True),), 4)
    assert name_by_uuid(on_eight(visible=("GPU:0",)), asleep).devices.visible == ("GPU:0",)


def test_that_a_new_name_is_like_those_that_are_there() -> None:
    plan = on_eight(visible=("GPU-5d1", "GPU-5d2"))
    assert set_cut(plan, "GPU:2", CardSlices.of((64, 64)), EIGHT).devices.carve == (
        Carve("GPU-5d2", (64, 64)),
    )
    assert show_card(plan, "GPU:0", EIGHT).devices.visible == ("GPU-5d0", "GPU-5d1", "GPU-5d2")


def test_that_a_device_that_is_not_there_can_be_forgotten() -> None:
    plan = on_eight(
        visible=("GPU:0", "GPU:9"), carve=(Carve("GPU:9", (64,)), Carve("GPU:0", (64,)))
    )
    mended = forget_device(plan, "GPU:9", EIGHT)
    assert mended.devices.visible == ("GPU:0",)
    assert mended.devices.carve == (Carve("GPU:0", (64,)),)
    assert validate(mended, EIGHT) == []


def test_that_switches_are_set() -> None:
    plan = set_devices(on_eight(), memory_growth=True, soft_placement=False)
    assert plan.devices == DeviceSettings(memory_growth=True, soft_placement=False)
